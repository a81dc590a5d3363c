"""`translate`: translate texts, or the lines of the standard input."""

import argparse
import os
import sys
import unicodedata
from collections.abc import Iterator

from annotated_transformer.commands.options import (
    SearchOptions,
    add_model_options,
    add_search_options,
    load_translator,
    search_options,
)
from annotated_transformer.commands.output import log, print_line
from annotated_transformer.decoding.pretrained import EN_DE
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.lines import decode_lines, list_problems

STDIN = "the standard input"
TOGETHER = 128  # lines that are sorted by length, translated in two batches, and then printed


def add_translate_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `translate`."""
    add_model_options(command, default=EN_DE)
    command.add_argument(
        "texts",
        nargs="*",
        metavar="text",
        help="text to translate (default: each line of the standard input)",
    )
    command.add_argument(
        "--skip-bad",
        action="store_true",
        help="print a blank line for each text that cannot be translated, and translate the others "
        "(default: report all of them, and translate nothing)",
    )
    add_search_options(command)


def translate_command(options: argparse.Namespace) -> None:
    """Translate each text, or each line of the standard input, and print one line for each.

    The translation of a blank line is a blank line. Each translation is printed as soon as it is
    made.
    """
    texts = [_decode_argument(text) for text in options.texts] or _read_stdin(skip_bad=options.skip_bad)
    if not texts:
        raise ValueError('nothing to translate; give a text, such as "A man is sleeping.", or lines on stdin')
    search = search_options(options)
    translator = load_translator(options, default=EN_DE)
    sources = translator.encode(texts)
    name = "argument" if options.texts else f"{STDIN}, line"
    problems = [f"{name} {index + 1} {sources.problems[index]}" for index in sorted(sources.problems)]
    if problems and not options.skip_bad:
        raise ValueError(list_problems(problems, "or give --skip-bad to leave such lines blank"))
    for problem in problems:
        log(f"skipped: {problem}")
    for translation in _translations(translator, texts, sources.blank | set(sources.problems), search):
        print_line(_one_line(translation))


def _decode_argument(text: str) -> str:
    """Decode an argument as UTF-8, as the lines of the standard input are, whatever the locale."""
    try:
        return os.fsencode(text).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which is reported later
        return text


def _read_stdin(*, skip_bad: bool) -> list[str]:
    if sys.stdin is None:
        raise ValueError(f"{STDIN} is closed; give a text to translate as an argument, or open it")
    raw = sys.stdin.buffer.read()
    if raw == b"\n":
        return [""]
    return decode_lines(raw, STDIN, errors="surrogateescape" if skip_bad else "strict")


def _translations(
    translator: Translator, texts: list[str], skipped: set[int] | frozenset[int], search: SearchOptions
) -> Iterator[str]:
    """Yield one line per text, a few batches at a time; the lines of `skipped` are blank."""
    for start in range(0, len(texts), TOGETHER):
        indices = range(start, min(start + TOGETHER, len(texts)))
        found = iter(translator.translate([texts[i] for i in indices if i not in skipped], **search))
        for i in indices:
            yield "" if i in skipped else next(found)


def _one_line(text: str) -> str:
    """Write control characters as escapes: they would control the terminal or end the line."""
    control = {c for c in text if unicodedata.category(c) in ("Cc", "Zl", "Zp")}
    return text.translate({ord(c): c.encode("unicode_escape").decode() for c in control})
