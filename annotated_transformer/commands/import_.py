"""`import`: its options, and `import_command`, which saves a model of another library as one of ours."""

import argparse
from pathlib import Path
from typing import Annotated

from annotated_transformer.commands.arguments import Group, Option
from annotated_transformer.commands.options.process import THREADS
from annotated_transformer.commands.output import copy_model_card, print_line, refuse_used_folder
from annotated_transformer.interop.formats import FORMATS, READ, converter


class ImportOptions:
    """Import.

    Attributes:
        path: The folder of the model.
        format: Format.
        out: Folder to write to, new or empty.
    """

    path: Annotated[Path, Option(flag="")]
    format: Annotated[str, Option(flag="from", choices={name: FORMATS[name] for name in READ})]
    out: Path


DESCRIPTION = (
    "Read a model of another library, and save it as a model of this package, with its tokenizer and its "
    "model card. A model with a part that ours does not have is refused. Nothing is downloaded."
)
EXAMPLES = ("--from marian opus-mt-en-de --out en-de",)
GROUPS = (Group(ImportOptions), THREADS)


def import_command(options: argparse.Namespace) -> None:
    """Read a model of another library, and save it with its tokenizer and its model card."""
    from annotated_transformer.checkpointing.checkpoint import save

    refuse_used_folder(options.out)
    model, tokenizer, languages = converter("from", options.format)(options.path)
    save(options.out, model, tokenizer, languages=languages)
    copy_model_card(options.path, options.out, f"`annotated-transformer import --from {options.format}`")
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print_line(f"{options.path} is in {options.out}, {parameters:,} parameters; give --model {options.out}")
