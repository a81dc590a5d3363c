"""The work of `translate`: translate texts, the lines of a file, or the lines of the standard input."""

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from typing import NamedTuple

from tqdm import tqdm

from annotated_transformer.checkpointing.checkpoint import EN_DE
from annotated_transformer.commands.output import log, one_line, open_lines
from annotated_transformer.commands.running import decoding
from annotated_transformer.decoding.translator import RankedTranslation, Translator
from annotated_transformer.devices import describe_device
from annotated_transformer.text.lines import decode_lines, list_problems, read_bytes
from annotated_transformer.text.sentence_splitting import split_sentences

STDIN = "the standard input"
TOGETHER = 2  # batches of lines that are sorted by length, translated, and then printed

Ranked = list[RankedTranslation]
Translate = Callable[[list[str]], list[Ranked]]
"""Returns the translations of each sentence: one, or with --nbest N, up to N of them."""


class _Sentences(NamedTuple):
    """The sentences of each text that can be translated, and the problems of the other texts."""

    of_texts: list[list[str]]
    problems: dict[int, str]


def translate_texts(options: argparse.Namespace) -> None:
    """Translate each text, or each line of a file or of the standard input, and print one line for each.

    A text of several sentences is translated sentence by sentence. The translation of a blank line is
    a blank line. Translations are written as soon as they are ready, so an interrupted run keeps those
    that are done. In a terminal, without a text and --input, it asks for sentences and translates them
    one by one.
    """
    older = options.output if options.output and options.output.exists() else None
    if older and options.input and older.samefile(options.input):
        raise ValueError(f"--output {options.output} would replace --input; give another name")
    interactive = not (options.texts or options.input) and sys.stdin is not None and sys.stdin.isatty()
    texts = [] if interactive else _read_texts(options)
    if not texts and not interactive:
        raise ValueError('nothing to translate; give a text, such as "A man is sleeping.", or lines on stdin')
    decoding.known_languages(options, default=EN_DE)  # it refuses another --source
    translator = _with_engine(options, decoding.load_translator(options, default=EN_DE))
    translate = _translate(options, translator)
    if interactive:
        log(f"Translating on {describe_device(translator.device)}.")
        with open_lines(options.output) as write:
            show = partial(_lines, options)
            _translate_interactively(lambda text: _split(options, translator, [text]), translate, show, write)
        return
    sentences = _split(options, translator, texts)
    name = "argument" if options.texts else f"{options.input or STDIN}, line"
    problems = [f"{name} {index + 1} {sentences.problems[index]}" for index in sorted(sentences.problems)]
    if problems and not options.skip_bad:
        raise ValueError(list_problems(problems, "or give --skip-bad to leave such lines blank"))
    for problem in problems:
        log(f"skipped: {problem}")
    log(f"Translating on {describe_device(translator.device)}.")
    together = TOGETHER * max(options.batch_size, 1)
    with open_lines(options.output) as write, _progress_bar(options, len(texts)) as bar:
        for text, found in zip(texts, _translations(translate, sentences.of_texts, together), strict=True):
            for line in _lines(options, text, found):
                write(line)
            bar.update()


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


def _split(options: argparse.Namespace, translator: Translator, texts: list[str]) -> _Sentences:
    """Split texts into sentences, without blank ones; a text with a problem gets no sentences.

    A line break that does not end a sentence becomes a space. The code of a target language is put before
    each sentence that has none of its own.
    """
    language = options.source or ("en" if translator.languages is None else translator.languages.source)
    split_code, of_texts = translator.tokenizer.split_code, []
    for code, text in map(split_code, texts):
        split = split_sentences(text, language) if options.split and options.nbest is None else [text]
        lines = [" ".join(sentence.splitlines()) for sentence in split]
        of_texts.append([line if split_code(line)[0] else code + line for line in lines])
    sources = translator.encode([sentence for sentences in of_texts for sentence in sentences])
    translatable, problems, first = [], {}, 0
    for index, sentences in enumerate(of_texts):
        places = range(first, first + len(sentences))
        first += len(sentences)
        wrong = [sources.problems[place] for place in places if place in sources.problems]
        if wrong:
            problems[index] = wrong[0]
        usable = zip(places, sentences, strict=True)
        translatable.append([] if wrong else [text for place, text in usable if place not in sources.blank])
    return _Sentences(translatable, problems)


def _translate(options: argparse.Namespace, translator: Translator) -> Translate:
    search = decoding.search_settings(options)
    if options.sample:
        sample = decoding.sampler(options, translator)
        return lambda texts: [[RankedTranslation(text, math.nan, math.nan)] for text in sample(texts)]
    if options.nbest is not None:
        return lambda texts: translator.nbest(texts, options.nbest, **search)
    if options.json:
        return lambda texts: translator.nbest(texts, 1, **{"beam_size": 1, **search})
    found = translator.translate
    return lambda texts: [[RankedTranslation(text, math.nan, math.nan)] for text in found(texts, **search)]


def _lines(options: argparse.Namespace, source: str, found: Ranked) -> list[str]:
    """Return the lines to print for a text."""
    if options.json:
        best = found[0] if found else RankedTranslation("", 0.0, 0.0)
        shown: dict[str, object] = {"source": source, "translation": best.text, "log_prob": best.log_prob}
        ranked = {} if options.nbest is None else {"nbest": [asdict(one) for one in found]}
        return [json.dumps(shown | ranked)]
    lines = [one_line(one.text) for one in found]
    if options.nbest is not None:
        lines = [f"{one.penalized_log_prob:.4f}\t{line}" for one, line in zip(found, lines, strict=True)]
    return lines + [""] * ((options.nbest or 1) - len(lines))


def _translations(translate: Translate, of_texts: list[list[str]], together: int) -> Iterator[Ranked]:
    """Yield the translations of each text, `together` texts at a time; a text without sentences has none."""
    for start in range(0, len(of_texts), together):
        group = of_texts[start : start + together]
        translated = iter(translate([sentence for sentences in group for sentence in sentences]))
        for sentences in group:
            found = [next(translated) for _ in sentences]
            if len(found) > 1:  # one of each: with --nbest, texts are not split
                parts = [best for (best,) in found]
                numbers = (sum(one.log_prob for one in parts), sum(one.penalized_log_prob for one in parts))
                found = [[RankedTranslation(" ".join(one.text for one in parts), *numbers)]]
            yield found[0] if found else []


def _translate_interactively(
    split: Callable[[str], _Sentences],
    translate: Translate,
    show: Callable[[str, Ranked], list[str]],
    write: Callable[[str], None],
) -> None:
    """Ask for texts and translate each, until the end of the input (Ctrl-D)."""
    log("Type a sentence and press Enter to translate it. Ctrl-D ends.")
    while True:
        log("> ", end="")
        raw = sys.stdin.buffer.readline()
        if not raw:
            log("")
            return
        (text,) = decode_lines(raw, STDIN, errors="surrogateescape") or [""]
        sentences = split(text)
        for problem in sentences.problems.values():
            log(f"the text {problem}")
        if any(sentences.of_texts):
            for found in _translations(translate, sentences.of_texts, 1):
                for line in show(text, found):
                    write(line)


def _progress_bar(options: argparse.Namespace, texts: int) -> "tqdm[None]":
    """Return a bar that is shown if stderr is a terminal and translations are not printed to one."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    mixed = options.output is None and sys.stdout is not None and sys.stdout.isatty()
    return tqdm(total=texts, unit=" texts", disable=mixed or not shown)
