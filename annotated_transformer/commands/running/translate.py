"""The work of `translate`: translate texts, the lines of a file, or the lines of the standard input."""

import argparse
import json
import math
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
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
    with open_lines(options.output) as write_line:
        run = _Run(options, translator, write_line)
        if interactive:
            run.translate_typed()
        elif piped:
            run.translate_arriving()
        else:
            run.translate_all(texts)


class _Run:
    """Translates texts and writes the translations, as the options say."""

    def __init__(
        self, options: argparse.Namespace, translator: Translator, write_line: Callable[[str], None]
    ) -> None:
        self.options, self.translator, self.write_line = options, translator, write_line
        self.search = decoding.search_settings(options)
        self.sample = decoding.sampler(options, translator) if options.sample else None
        self.device = f"Translating on {describe_device(translator.device)}."

    def translate_all(self, texts: list[str]) -> None:
        """Translate texts, unless one of them has a problem."""
        sentences = self._split(texts)
        name = "argument" if self.options.texts else f"{self.options.input or STDIN}, line"
        self._report(_named(sentences.problems, name))
        log(self.device)
        with _progress_bar(self.options, len(texts)) as bar:
            self._write_translations(texts, sentences, bar.update)

    def translate_arriving(self) -> None:
        """Translate the lines that have arrived, then the next ones; a bad line ends the run at its place."""
        log(self.device)
        before = 0
        for texts in arriving_lines(sys.stdin.fileno(), STDIN):
            sentences = self._split(texts)
            problems = _named(sentences.problems, f"{STDIN}, line", before)
            end = len(texts)
            if self.options.skip_bad:
                self._report(problems)
            else:
                end = min(problems, default=end)
            self._write_translations(texts[:end], sentences)
            if end < len(texts):
                raise Unfinished(list_problems([problems[end]], SKIP))
            before += len(texts)
        if not before:
            raise ValueError(NOTHING)

    def translate_typed(self) -> None:
        """Ask for texts and translate each, until the end of the input (Ctrl-D)."""
        log(self.device)
        log("Type a sentence and press Enter to translate it. Ctrl-D ends.")
        while True:
            log("> ", end="")
            raw = sys.stdin.buffer.readline()
            if not raw:
                log("")
                return
            if len(raw.removesuffix(b"\n")) >= LONGEST_TYPED:
                way_out = "give it by --input, or in a pipe"
                log(f"the terminal cut this line off at {LONGEST_TYPED:,} bytes; {way_out}")
                continue
            texts = decode_lines(raw, STDIN, errors="surrogateescape")
            sentences = self._split(texts)
            for problem in sentences.problems.values():
                log(f"the text {problem}")
            if any(sentences.of_texts):
                self._write_translations(texts, sentences)

    def _split(self, texts: list[str]) -> Sentences:
        """Split texts into sentences, if the options say so; without, a line break becomes a space."""
        split = self.options.split and self.options.nbest is None
        lines = texts if split else [" ".join(text.splitlines()) for text in texts]
        return self.translator.sentences(lines, split=split, language=self.options.source)

    def _report(self, problems: dict[int, str]) -> None:
        if problems and not self.options.skip_bad:
            raise ValueError(list_problems(problems.values(), SKIP))
        for problem in problems.values():
            log(f"skipped: {problem}")

    def _write_translations(
        self, texts: list[str], sentences: Sentences, done: Callable[[], object] = lambda: None
    ) -> None:
        """Translate some texts at a time, write the translations of each, and call `done` after each."""
        together = TOGETHER * max(self.options.batch_size, 1)
        for start in range(0, len(texts), together):
            rows = range(len(texts))[start : start + together]
            ranked = iter(self._translate([one for row in rows for one in sentences.of_texts[row]]))
            for row in rows:
                of_sentences = [next(ranked) for _ in sentences.of_texts[row]]
                if len(of_sentences) > 1:  # one of each: with --nbest, texts are not split
                    of_sentences = [[_joined([best for (best,) in of_sentences])]]
                self._write(texts[row], of_sentences[0] if of_sentences else [], row in sentences.problems)
                done()

    def _translate(self, sentences: list[str]) -> list[Ranked]:
        """Return the translations of each sentence: one, or with --nbest N, up to N of them."""
        if self.options.nbest is not None:
            ranked = self.translator.nbest(sentences, self.options.nbest, **self.search)
        elif self.options.json:
            ranked = self.translator.nbest(sentences, 1, **{"beam_size": 1, **self.search})
        else:
            search = {"split": False} | self.search
            texts = self.sample(sentences) if self.sample else self.translator.translate(sentences, **search)
            ranked = [[RankedTranslation(text, math.nan, math.nan)] for text in texts]
        for text in decoding.cut_off(sentences, ([one.text for one in best] for best in ranked)):
            log(f"warning: {decoding.describe_cut_off(self.translator, text)}")
        return ranked

    def _write(self, source: str, ranked: Ranked, skipped: bool) -> None:
        """Write the translations of a text; there are none if it is blank or skipped."""
        if self.options.json:
            nothing = RankedTranslation(TranslatedText("", complete=not skipped), 0.0, 0.0)
            best = ranked[0] if ranked else nothing
            source = source.removesuffix("\r").encode("utf-8", "replace").decode()
            fields = {"source": source, "translation": best.text, "log_prob": best.log_prob}
            nbest = [asdict(one) | {"complete": one.complete} for one in ranked]
            more = {} if self.options.nbest is None else {"nbest": nbest}
            self.write_line(json.dumps(fields | {"complete": best.complete} | more))
            return
        lines = [one_line(one.text) for one in ranked]
        if self.options.nbest is not None:
            lines = [f"{one.penalized_log_prob:.4f}\t{line}" for one, line in zip(ranked, lines, strict=True)]
        for line in lines + [""] * ((self.options.nbest or 1) - len(lines)):
            self.write_line(line)


def _joined(sentences: Ranked) -> RankedTranslation:
    log_probs = (sum(one.log_prob for one in sentences), sum(one.penalized_log_prob for one in sentences))
    return RankedTranslation(join([one.text for one in sentences]), *log_probs)


def _named(problems: dict[int, str], name: str, before: int = 0) -> dict[int, str]:
    """Return problems with the names of their texts, which are counted from one."""
    return {index: f"{name} {before + index + 1} {problems[index]}" for index in sorted(problems)}


def _is_piped(stream: Any) -> bool:
    """Return whether lines may arrive one by one, from another program."""
    with suppress(AttributeError, OSError):  # None, or a stream in memory
        mode = os.fstat(stream.fileno()).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    return False


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


def _progress_bar(options: argparse.Namespace, texts: int) -> "tqdm[None]":
    """Return a bar that is shown if stderr is a terminal and translations are not printed to one."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    mixed = options.output is None and sys.stdout is not None and sys.stdout.isatty()
    return tqdm(total=texts, unit=" texts", disable=mixed or not shown)
