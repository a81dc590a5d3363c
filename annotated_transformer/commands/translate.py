"""`translate`: print a translation of each text, or of each line of the standard input."""

import argparse
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
from annotated_transformer.text.lines import decode_lines

STDIN = "the standard input"
TOGETHER = 128  # lines, sorted by length and translated in two batches, before they are printed
REPORTED = 10  # bad lines, by name


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
        help="print a blank line for a text that cannot be translated, and translate the others "
        "(default: report all such texts, and translate nothing)",
    )
    add_search_options(command)


def translate_command(options: argparse.Namespace) -> None:
    """Print a translation of each text given, or of each line of the standard input.

    The translation of a blank line is a blank line. Translations are printed as they come.
    """
    texts = options.texts or _read_stdin(skip_bad=options.skip_bad)
    if not texts:
        raise ValueError('nothing to translate; give a text, such as "A man is sleeping.", or lines on stdin')
    search = search_options(options)
    translator = load_translator(options, default=EN_DE)
    sources = translator.encode(texts)
    name = "argument" if options.texts else f"{STDIN}, line"
    problems = [f"{name} {index + 1} {sources.problems[index]}" for index in sorted(sources.problems)]
    if problems and not options.skip_bad:
        raise ValueError(_refusal(problems))
    for problem in problems:
        log(f"skipped: {problem}")
    for translation in _translations(translator, texts, sources.blank | set(sources.problems), search):
        print_line(_one_line(translation))


def _read_stdin(*, skip_bad: bool) -> list[str]:
    raw = sys.stdin.buffer.read()
    if raw == b"\n":
        return [""]
    return decode_lines(raw, STDIN, errors="surrogateescape" if skip_bad else "strict")


def _refusal(problems: list[str]) -> str:
    more = len(problems) - REPORTED
    lines = problems[:REPORTED] + ([f"and {more} more like these"] if more > 0 else [])
    return "\n".join(lines) + ", or give --skip-bad to leave such lines blank"


def _translations(
    translator: Translator, texts: list[str], skipped: set[int] | frozenset[int], search: SearchOptions
) -> Iterator[str]:
    """Yield a line for each text, a few batches at a time; those of `skipped` are blank."""
    for start in range(0, len(texts), TOGETHER):
        indices = range(start, min(start + TOGETHER, len(texts)))
        found = iter(translator.translate([texts[i] for i in indices if i not in skipped], **search))
        for i in indices:
            yield "" if i in skipped else next(found)


def _one_line(text: str) -> str:
    """Write control characters as escapes: they would drive the terminal, or end the line."""
    control = {c for c in text if unicodedata.category(c) in ("Cc", "Zl", "Zp")}
    return text.translate({ord(c): c.encode("unicode_escape").decode() for c in control})
