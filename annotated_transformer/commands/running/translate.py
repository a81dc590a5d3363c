"""The work of `translate`: translate texts, the lines of a file, or the lines of the standard input."""

import argparse
import json
import math
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any

from tqdm import tqdm

from annotated_transformer.checkpointing.checkpoint import EN_DE
from annotated_transformer.commands.output import Unfinished, log, one_line, open_lines
from annotated_transformer.commands.running import decoding
from annotated_transformer.decoding.translations import RankedTranslation, TranslatedText, join
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.devices import describe_device
from annotated_transformer.text.lines import arriving_lines, decode_lines, list_problems, read_bytes
from annotated_transformer.text.sources import Sentences

STDIN = "the standard input"
NOTHING = 'nothing to translate; give a text, such as "A man is sleeping.", or lines on stdin'
LONGEST_TYPED = 4095  # bytes: Linux drops the rest of a line that is typed or pasted into a terminal
SKIP = "or give --skip-bad to leave such lines blank"
TOGETHER = 2  # batches of lines that are sorted by length, translated, and then printed

Ranked = list[RankedTranslation]
Translate = Callable[[list[str]], list[Ranked]]
"""Returns the translations of each sentence: one, or with --nbest N, up to N of them."""
Split = Callable[[list[str]], Sentences]
Write = Callable[[str, Ranked, bool], None]
"""Prints the translations of a text; there are none if it is blank or, in the third argument, skipped."""


def translate_texts(options: argparse.Namespace) -> None:
    """Translate each text, or each line of a file or of the standard input, and print one line for each.

    A text of several sentences is translated sentence by sentence. The translation of a blank line is
    a blank line. Translations are written as soon as they are ready, so an interrupted run keeps those
    that are done. Lines of a pipe are translated as they come. In a terminal, without a text and --input,
    it asks for sentences and translates them one by one.
    """
    older = options.output if options.output and options.output.exists() else None
    if older and options.input and older.samefile(options.input):
        raise ValueError(f"--output {options.output} would replace --input; give another name")
    stdin = None if options.texts or options.input else sys.stdin
    interactive, piped = stdin is not None and stdin.isatty(), _is_piped(stdin)
    texts = [] if interactive or piped else _read_texts(options)
    if not (texts or interactive or piped):
        raise ValueError(NOTHING)
    decoding.known_languages(options, default=EN_DE)  # it refuses another --source
    translator = _with_engine(options, decoding.load_translator(options, default=EN_DE))
    translate, split = _translate(options, translator), partial(_split, options, translator)
    device = f"Translating on {describe_device(translator.device)}."
    name = "argument" if options.texts else f"{options.input or STDIN}, line"
    with open_lines(options.output) as write_line:
        write = partial(_write, options, write_line)
        if not (interactive or piped):
            sentences = split(texts)
            _report(_named(sentences.problems, name), options)
            log(device)
            with _progress_bar(options, len(texts)) as bar:
                translations = _translations(options, translate, sentences.of_texts)
                for index, ranked in enumerate(translations):
                    write(texts[index], ranked, index in sentences.problems)
                    bar.update()
            return
        log(device)
        if interactive:
            _translate_interactively(options, split, translate, write)
        else:
            _translate_stream(options, split, translate, write)


def _named(problems: dict[int, str], name: str, before: int = 0) -> dict[int, str]:
    """Return problems with the names of their texts, which are counted from one."""
    return {index: f"{name} {before + index + 1} {problems[index]}" for index in sorted(problems)}


def _report(problems: dict[int, str], options: argparse.Namespace) -> None:
    if problems and not options.skip_bad:
        raise ValueError(list_problems(problems.values(), SKIP))
    for problem in problems.values():
        log(f"skipped: {problem}")


def _is_piped(stream: Any) -> bool:
    """Return whether lines may arrive one by one, from another program."""
    with suppress(AttributeError, OSError):  # None, or a stream in memory
        mode = os.fstat(stream.fileno()).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    return False


def _translate_stream(options: argparse.Namespace, split: Split, translate: Translate, write: Write) -> None:
    """Translate the lines that have arrived, then the next ones; a bad line ends the run at its place."""
    before = 0
    for texts in arriving_lines(sys.stdin.fileno(), STDIN):
        sentences = split(texts)
        problems = _named(sentences.problems, f"{STDIN}, line", before)
        end = len(texts) if options.skip_bad else min(problems, default=len(texts))
        if options.skip_bad:
            _report(problems, options)
        translations = _translations(options, translate, sentences.of_texts[:end])
        for index, ranked in enumerate(translations):
            write(texts[index], ranked, index in problems)
        if end < len(texts):
            raise Unfinished(list_problems([problems[end]], SKIP))
        before += len(texts)
    if not before:
        raise ValueError(NOTHING)


def _with_engine(options: argparse.Namespace, translator: Translator) -> Translator:
    if options.engine is None:
        return translator
    if options.device == "cuda":
        raise ValueError("--engine computes on the CPU, and --device is cuda; leave one of them out")
    from annotated_transformer.interop.ctranslate2 import CTranslate2Engine

    engine = CTranslate2Engine.from_model(translator.model, dtype=options.engine_dtype or "float32")
    return Translator(translator.model, translator.tokenizer, engine=engine, languages=translator.languages)


def _read_texts(options: argparse.Namespace) -> list[str]:
    if options.texts:
        return [_decode_argument(text) for text in options.texts]
    if options.input is None and sys.stdin is None:
        raise ValueError(f"{STDIN} is closed; give a text to translate as an argument, or open it")
    raw = sys.stdin.buffer.read() if options.input is None else read_bytes(options.input)
    if raw == b"\n":
        return [""]
    name = str(options.input or STDIN)
    return decode_lines(raw, name, errors="surrogateescape")  # other bytes are reported later


def _decode_argument(text: str) -> str:
    """Decode an argument as UTF-8, like the lines of the standard input, regardless of the locale."""
    try:
        return os.fsencode(text).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which is reported later
        return text


def _split(options: argparse.Namespace, translator: Translator, texts: list[str]) -> Sentences:
    """Split texts into sentences, if the options say so; without, a line break becomes a space."""
    split = options.split and options.nbest is None
    lines = texts if split else [" ".join(text.splitlines()) for text in texts]
    return translator.sentences(lines, split=split, language=options.source)


def _translate(options: argparse.Namespace, translator: Translator) -> Translate:
    search = decoding.search_settings(options)
    sample = decoding.sampler(options, translator) if options.sample else None

    def ranked(texts: list[str]) -> list[Ranked]:
        if options.nbest is not None:
            return translator.nbest(texts, options.nbest, **search)
        if options.json:
            return translator.nbest(texts, 1, **{"beam_size": 1, **search})
        found = sample(texts) if sample else translator.translate(texts, split=False, **search)
        return [[RankedTranslation(text, math.nan, math.nan)] for text in found]

    def translate(texts: list[str]) -> list[Ranked]:
        translations = ranked(texts)
        for text in decoding.cut_off(texts, ([one.text for one in own] for own in translations)):
            log(f"warning: {decoding.describe_cut_off(translator, text)}")
        return translations

    return translate


def _write(
    options: argparse.Namespace,
    write_line: Callable[[str], None],
    source: str,
    ranked: Ranked,
    skipped: bool,
) -> None:
    if options.json:
        nothing = TranslatedText("", complete=not skipped)
        best = ranked[0] if ranked else RankedTranslation(nothing, 0.0, 0.0)
        source = source.removesuffix("\r").encode("utf-8", "replace").decode()
        shown = {"source": source, "translation": best.text, "log_prob": best.log_prob}
        nbest = [asdict(one) | {"complete": one.complete} for one in ranked]
        more = {} if options.nbest is None else {"nbest": nbest}
        write_line(json.dumps(shown | {"complete": best.complete} | more))
        return
    lines = [one_line(one.text) for one in ranked]
    if options.nbest is not None:
        lines = [f"{one.penalized_log_prob:.4f}\t{line}" for one, line in zip(ranked, lines, strict=True)]
    for line in lines + [""] * ((options.nbest or 1) - len(lines)):
        write_line(line)


def _translations(
    options: argparse.Namespace, translate: Translate, of_texts: list[list[str]]
) -> Iterator[Ranked]:
    """Yield the translations of each text, some texts at a time; a text without sentences has none."""
    together = TOGETHER * max(options.batch_size, 1)
    for start in range(0, len(of_texts), together):
        group = of_texts[start : start + together]
        translated = iter(translate([sentence for sentences in group for sentence in sentences]))
        for sentences in group:
            ranked = [next(translated) for _ in sentences]
            if len(ranked) > 1:  # one of each: with --nbest, texts are not split
                ranked = [[_joined([best for (best,) in ranked])]]
            yield ranked[0] if ranked else []


def _joined(sentences: Ranked) -> RankedTranslation:
    log_probs = (sum(one.log_prob for one in sentences), sum(one.penalized_log_prob for one in sentences))
    return RankedTranslation(join([one.text for one in sentences]), *log_probs)


def _translate_interactively(
    options: argparse.Namespace, split: Split, translate: Translate, write: Write
) -> None:
    """Ask for texts and translate each, until the end of the input (Ctrl-D)."""
    log("Type a sentence and press Enter to translate it. Ctrl-D ends.")
    while True:
        log("> ", end="")
        raw = sys.stdin.buffer.readline()
        if not raw:
            log("")
            return
        if len(raw.removesuffix(b"\n")) >= LONGEST_TYPED:
            log(
                f"the terminal cut this line off at {LONGEST_TYPED:,} bytes; give it by --input, or in a pipe"
            )
            continue
        (text,) = decode_lines(raw, STDIN, errors="surrogateescape") or [""]
        sentences = split([text])
        for problem in sentences.problems.values():
            log(f"the text {problem}")
        if any(sentences.of_texts):
            for ranked in _translations(options, translate, sentences.of_texts):
                write(text, ranked, False)


def _progress_bar(options: argparse.Namespace, texts: int | None) -> "tqdm[None]":
    """Return a bar that is shown if stderr is a terminal and translations are not printed to one."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    mixed = options.output is None and sys.stdout is not None and sys.stdout.isatty()
    return tqdm(total=texts, unit=" texts", disable=mixed or not shown)
