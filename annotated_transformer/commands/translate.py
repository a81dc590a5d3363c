"""`translate`: its options, and its command, whose work is in `running/` (`translate.py`, `decoding.py`)."""

import argparse
from pathlib import Path
from typing import Annotated, Literal

from annotated_transformer.commands.arguments import Group, Option
from annotated_transformer.commands.options.decoding import ModelOptions, SamplingOptions, SearchOptions
from annotated_transformer.commands.options.process import ProcessOptions


class TextOptions:
    """Texts.

    Attributes:
        texts: Text to translate; `None` means each line of the standard input.
        input: File with one text per line, plain or compressed by gzip; `None` means the standard input.
        output: File to write the translations to, line by line, compressed by gzip if its name ends in .gz;
            an older one is replaced; `None` means the standard output.
        skip_bad: Print a blank line for each text that cannot be translated, and translate the others.
        split: Translate each text sentence by sentence, except with --nbest.
        source: Code of the texts' language, such as de, whose abbreviations do not end a sentence; an unknown
            code counts as en; `None` means that of the model, or en if the model does not store it.
        nbest: Print the N best translations of each text, each after its log-probability divided by the
            length penalty, and a tab; without --beam, the beam is 4, or N if that is larger; `None` means
            only the best, without it.
        json: Print one JSON object for each text, with its translation, log-probability and, with --nbest,
            all N.
    """

    texts: Annotated[tuple[str, ...], Option(flag="")] = ()
    input: Annotated[Path | None, Option(file="read", not_with=("texts",))] = None
    output: Annotated[Path | None, Option(file="write")] = None
    skip_bad: bool = False
    split: bool = True
    source: str | None = None
    nbest: Annotated[int | None, Option(not_with=("sample",))] = None
    json: Annotated[bool, Option(not_with=("sample",))] = False


class EngineOptions:
    """Engine.

    Attributes:
        engine: Library that searches instead of this package, on the CPU; its beam search is a different one,
            and it needs pip install ctranslate2; `None` means this package.
        engine_dtype: Type that the weights are rounded to; `None` means float32.
    """

    engine: Literal["ctranslate2"] | None = None
    engine_dtype: Annotated[
        Literal["float32", "int8", "bfloat16", "float16"] | None, Option(only_with=("engine",))
    ] = None


DESCRIPTION = (
    "Translate each text, or each line of a file or of the standard input, and print one line for each."
)
EXAMPLES = ('"The weather is nice today."', "--model my_model --beam 5 --input texts.en --output texts.de")
GROUPS = tuple(
    map(Group, (TextOptions, ModelOptions, SearchOptions, SamplingOptions, EngineOptions, ProcessOptions))
)


def translate_command(options: argparse.Namespace) -> None:
    """Translate each text, or each line of a file or of the standard input, and print one line for each."""
    from annotated_transformer.commands.running.translate import translate_texts  # slow to import

    translate_texts(options)
