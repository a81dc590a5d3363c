"""`export`: its options, and `export_command`, which writes a model in the format of another library."""

import argparse
from pathlib import Path
from typing import Annotated

from annotated_transformer.commands.arguments import Group, Option
from annotated_transformer.commands.options.process import ProcessOptions
from annotated_transformer.commands.output import copy_model_card, print_line, refuse_used_folder
from annotated_transformer.interop.formats import DTYPES, FORMATS, converter


class ExportOptions:
    """Export.

    Attributes:
        model: Folder of a model that train wrote; `None` means the one of --pretrained.
        pretrained: Name of a model in this package: de-en or en-de; `None` means the one of --model.
        to: Format.
        out: Folder to write to, new or empty.
        dtype: Type of the weights; `None` means that of the model, or of the format.
    """

    model: Annotated[Path | None, Option(not_with=("pretrained",))] = None
    pretrained: str | None = None
    to: Annotated[str, Option(choices=FORMATS)]
    out: Path
    dtype: Annotated[str | None, Option(choices=DTYPES)] = None


DESCRIPTION = (
    "Write a model and its tokenizer in the format of another library. The model card travels along. "
    "A model with a part that the format does not have is refused."
)
EXAMPLES = (
    "--pretrained en-de --to marian --out en-de-marian",
    "--model my_model --to marian --out my_marian --dtype float16",
)
GROUPS = (Group(ExportOptions), Group(ProcessOptions))


def export_command(options: argparse.Namespace) -> None:
    """Write a model and its tokenizer to a folder, in the format of another library."""
    from annotated_transformer.checkpointing.checkpoint import load, pretrained_folder, read_languages

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
    converter("to", options.to)(model, tokenizer, options.out, languages=read_languages(folder), **dtype)
    copy_model_card(folder, options.out, f"`annotated-transformer export --to {options.to}`")
    print_line(f"{options.pretrained or options.model} is in {options.out}, for {known.about}")
