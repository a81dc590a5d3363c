"""`translate`: print a translation of each text, or of each line of the standard input."""

import argparse
import sys
import unicodedata

from annotated_transformer.commands.options import (
    add_model_options,
    add_search_options,
    load_translator,
    search_options,
)
from annotated_transformer.decoding.pretrained import EN_DE
from annotated_transformer.text.lines import decode_lines


def add_translate_options(command: argparse.ArgumentParser) -> None:
    """Add what `translate` takes."""
    add_model_options(command, default=EN_DE)
    command.add_argument("texts", nargs="*", metavar="text", help="none: the lines of the standard input")
    add_search_options(command)


def translate_command(options: argparse.Namespace) -> None:
    """Print a translation of each text given, or of each line of the standard input."""
    texts = options.texts or decode_lines(sys.stdin.buffer.read(), "the standard input")
    if not texts:
        raise ValueError('nothing to translate; give a text, such as "A man is sleeping.", or lines on stdin')
    search = search_options(options)
    for translation in load_translator(options, default=EN_DE).translate(texts, **search):
        print(_one_line(translation))


def _one_line(text: str) -> str:
    """Write control characters as escapes: they would drive the terminal, or end the line."""
    control = {c for c in text if unicodedata.category(c) in ("Cc", "Zl", "Zp")}
    return text.translate({ord(c): c.encode("unicode_escape").decode() for c in control})
