"""The options of `translate`, and its help."""

import argparse

from annotated_transformer.commands.decoding_options import add_sampling_options, add_search_options
from annotated_transformer.commands.options import add_model_options, describe_command, path

ENGINES = ("ctranslate2",)
ENGINE_DTYPES = ("float32", "int8", "bfloat16", "float16")


def add_translate_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `translate`."""
    describe_command(
        command,
        "Translate each text, or each line of a file or of the standard input, and print one line for each.",
        '"The weather is nice today."',
        "--model my_model --beam 5 --input texts.en --output texts.de",
    )
    texts = command.add_argument_group("texts")
    texts.add_argument(
        "texts",
        nargs="*",
        metavar="text",
        help="text to translate (default: each line of the standard input)",
    )
    texts.add_argument(
        "--input",
        type=path,
        metavar="FILE",
        help="file with one text per line, plain or compressed by gzip (default: the standard input)",
    )
    texts.add_argument(
        "--output",
        type=path,
        metavar="FILE",
        help="file to write the translations to, line by line, compressed by gzip if its name ends in .gz; "
        "an older one is replaced (default: the standard output)",
    )
    texts.add_argument(
        "--skip-bad",
        action="store_true",
        help="print a blank line for each text that cannot be translated, and translate the others "
        "(default: report all of them, and translate nothing)",
    )
    texts.add_argument(
        "--no-split",
        action="store_true",
        help="translate each text as a whole (default: sentence by sentence, except with --nbest)",
    )
    texts.add_argument(
        "--source",
        metavar="LANGUAGE",
        help="code of the texts' language, such as de, whose abbreviations do not end a sentence; an unknown "
        "code counts as en (default: that of the model, or en if the model does not store it)",
    )
    add_model_options(command, default="en-de")
    add_search_options(command)
    command.add_argument_group("several translations").add_argument(
        "--nbest",
        type=int,
        metavar="N",
        help="print the N best translations of each text, each after its log-probability divided by the "
        "length penalty, and a tab; without --beam, the beam is 4, or N if that is larger (default: only the "
        "best, without it)",
    )
    add_sampling_options(command)
    engine = command.add_argument_group("engine")
    engine.add_argument(
        "--engine",
        choices=ENGINES,
        help="library that searches instead of this package, on the CPU; its beam search is a different one, "
        "and it needs pip install '.[interop]' in the folder of this book (default: this package)",
    )
    engine.add_argument(
        "--engine-dtype",
        choices=ENGINE_DTYPES,
        help="with --engine, type that the weights are rounded to (default: float32)",
    )
