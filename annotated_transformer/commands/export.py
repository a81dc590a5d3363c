"""`export`: write a model in the format of another library."""

import argparse

from annotated_transformer.checkpointing.checkpoint import load, pretrained_folder, read_languages
from annotated_transformer.commands.output import print_line
from annotated_transformer.commands.result_folder import copy_model_card, refuse_used_folder
from annotated_transformer.interop.formats import FORMATS


def export_command(options: argparse.Namespace) -> None:
    """Write a model and its tokenizer to a folder, in the format of another library."""
    known = FORMATS[options.to]
    if options.dtype is not None and options.dtype not in known.dtypes:
        raise ValueError(
            f"--to {options.to} has no dtype={options.dtype!r}; choose from {', '.join(known.dtypes)}"
        )
    if options.model is None and options.pretrained is None:
        raise ValueError("there is no model to export; give --model or --pretrained")
    refuse_used_folder(options.out)
    folder = options.model or pretrained_folder(options.pretrained)
    model, tokenizer = load(folder)
    dtype = {} if options.dtype is None else {"dtype": options.dtype}
    known.function(known.to)(model, tokenizer, options.out, languages=read_languages(folder), **dtype)
    copy_model_card(folder, options.out, f"`annotated-transformer export --to {options.to}`")
    print_line(f"{options.pretrained or options.model} is in {options.out}, for {known.about}")
