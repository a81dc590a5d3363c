"""The work of `translate`: translate texts, the lines of a file, or the lines of the standard input."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator

from tqdm import tqdm

from annotated_transformer.checkpointing.checkpoint import EN_DE
from annotated_transformer.commands.output import log, one_line, open_lines
from annotated_transformer.commands.running import decoding
from annotated_transformer.decoding.translator import RankedTranslation, Sentences, Translator
from annotated_transformer.devices import describe_device
from annotated_transformer.text.lines import decode_lines, list_problems, read_bytes

STDIN = "the standard input"
TOGETHER = 2  # batches of lines that are sorted by length, translated, and then printed

Translate = Callable[[list[str]], list[list[str]]]
"""Returns the lines to print for each sentence: one, or with --nbest N, N of them."""


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
            _translate_interactively(lambda text: _split(options, translator, [text]), translate, write)
        return
    sentences = _split(options, translator, texts)
    name = "argument" if options.texts else f"{options.input or STDIN}, line"
    problems = [f"{name} {index + 1} {sentences.problems[index]}" for index in sorted(sentences.problems)]
    if problems and not options.skip_bad:
        raise ValueError(list_problems(problems, "or give --skip-bad to leave such lines blank"))
    for problem in problems:
        log(f"skipped: {problem}")
    log(f"Translating on {describe_device(translator.device)}.")
    together, blank = TOGETHER * max(options.batch_size, 1), [""] * (options.nbest or 1)
    with open_lines(options.output) as write, _progress_bar(options, len(texts)) as bar:
        for lines in _translations(translate, sentences.of_texts, together):
            for line in lines or blank:
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


def _split(options: argparse.Namespace, translator: Translator, texts: list[str]) -> Sentences:
    """Split texts into sentences, if the options say so; without, a line break becomes a space."""
    split = options.split and options.nbest is None
    lines = texts if split else [" ".join(text.splitlines()) for text in texts]
    return translator.sentences(lines, split=split, language=options.source)


def _translate(options: argparse.Namespace, translator: Translator) -> Translate:
    search = decoding.search_settings(options)
    if options.sample:
        sample = decoding.sampler(options, translator)
        return lambda texts: [[one_line(text)] for text in sample(texts)]
    if options.nbest is None:
        return lambda texts: [[one_line(text)] for text in translator.translate(texts, split=False, **search)]

    def lines(ranked: list[RankedTranslation]) -> list[str]:
        hypotheses = [f"{one.penalized_log_prob:.4f}\t{one_line(one.text)}" for one in ranked]
        return hypotheses + [""] * (options.nbest - len(hypotheses))

    return lambda texts: [lines(ranked) for ranked in translator.nbest(texts, options.nbest, **search)]


def _translations(translate: Translate, of_texts: list[list[str]], together: int) -> Iterator[list[str]]:
    """Yield the lines of each text, `together` texts at a time; a text without sentences has none."""
    for start in range(0, len(of_texts), together):
        group = of_texts[start : start + together]
        translated = iter(translate([sentence for sentences in group for sentence in sentences]))
        for sentences in group:
            lines = [next(translated) for _ in sentences]
            if len(lines) > 1:  # one line each: with --nbest, texts are not split
                lines = [[" ".join(line for (line,) in lines)]]
            yield lines[0] if lines else []


def _translate_interactively(
    split: Callable[[str], Sentences], translate: Translate, write: Callable[[str], None]
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
            for lines in _translations(translate, sentences.of_texts, 1):
                for line in lines:
                    write(line)


def _progress_bar(options: argparse.Namespace, texts: int) -> "tqdm[None]":
    """Return a bar that is shown if stderr is a terminal and translations are not printed to one."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    mixed = options.output is None and sys.stdout is not None and sys.stdout.isatty()
    return tqdm(total=texts, unit=" texts", disable=mixed or not shown)
