"""`import`: save a model of another library as one of this package."""

import argparse

from annotated_transformer.checkpointing.checkpoint import save
from annotated_transformer.commands.output import print_line
from annotated_transformer.commands.result_folder import copy_model_card, refuse_used_folder
from annotated_transformer.interop.formats import FORMATS


def import_command(options: argparse.Namespace) -> None:
    """Read a model of another library, and save it with its tokenizer and its model card."""
    refuse_used_folder(options.out)
    known = FORMATS[options.format]
    model, tokenizer, languages = known.function(known.from_)(options.path)
    save(options.out, model, tokenizer, languages=languages)
    copy_model_card(options.path, options.out, f"`annotated-transformer import --from {options.format}`")
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print_line(f"{options.path} is in {options.out}, {parameters:,} parameters; give --model {options.out}")
