"""The command `translate`: one output line per input line, whatever the text, and its error messages."""

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.commands.output import one_line
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.decoding.translations import RankedTranslation
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.fast import kv_cache
from tests.commands.conftest import DEVICE

pytestmark = pytest.mark.usefixtures("pretrained", "unchecked")
WEIGHTS = checkpoint.PRETRAINED
TOGETHER = 128  # lines translated before the first of them is printed
ENGINE = ["--engine", "ctranslate2"]


@pytest.fixture
def say(run, monkeypatch, tmp_path) -> Callable[..., str]:
    """Run the command, with some bytes as standard input, and return what it printed."""

    def say(*arguments: object, stdin: bytes = b"", status: int = 0, err: str = DEVICE) -> str:
        (tmp_path / "stdin").write_bytes(stdin)
        with (tmp_path / "stdin").open(encoding="utf-8") as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            out, log = run("translate", *arguments, status=status)
        assert re.search(err, log), log
        return out

    return say


@pytest.mark.parametrize("options", [[], ["--sample", "--seed", "0"], ["--beam", "2", "--nbest", "2"]])
def test_law_each_input_line_gives_one_output_line(options, say, monkeypatch):
    controls = {" ": "\x1b", "B": "B\u2028\x0b\n"}  # a model may generate any byte

    def answer(text: str) -> str:
        return "".join(controls.get(character, character) for character in text)

    for name in ("translate", "sample"):
        monkeypatch.setattr(Translator, name, lambda self, texts, **_: list(map(answer, texts)))
    ranked = partial(RankedTranslation, log_prob=-1.0, penalized_log_prob=-0.5)
    monkeypatch.setattr(
        Translator, "nbest", lambda self, texts, n, **_: [[ranked(answer(text))] for text in texts]
    )
    printed = say(*options, stdin=b"<b>a</b>\nA\x0bB\x0cC\nTwo").split("\n")
    expected = ["<b>a</b>", "A\\x1bB\\u2028\\x0b\\n\\x1bC", "Two"]
    if "--nbest" in options:  # two lines for each, though only one hypothesis was found
        expected = [line for text in expected for line in (f"-0.5000\t{text}", "")]
    assert printed == [*expected, ""]


def test_law_the_same_from_arguments_lines_and_files_of_any_model(folder, tmp_path: Path, say, monkeypatch):
    made, fast = [], kv_cache.FastKeyValueCache
    monkeypatch.setattr(kv_cache, "FastKeyValueCache", lambda *given: made.append(1) or fast(*given))
    texts = ["Two dogs.", "", "A child"]
    two, child = Translator.from_folder(folder).translate([texts[0], texts[2]])
    printed = say(*texts)
    assert printed == f"{two}\n\n{child}\n"
    data = "\n".join(texts).encode()
    for model in ([], ["--pretrained", "en-de"], ["--model", folder], ["--fast"]):
        assert not made
        assert say(*model, stdin=data) == printed
    assert made
    for name, raw in {"in": data, "in.gz": gzip.compress(data), "compressed": gzip.compress(data)}.items():
        (tmp_path / name).write_bytes(raw)
        assert say("--input", tmp_path / name, "--output", tmp_path / "out") == ""
        assert (tmp_path / "out").read_text("utf-8") == printed
    for blank in (b"\n", b" \n\xc2\xa0\r\n"):
        assert say(stdin=blank) == "\n" * blank.count(b"\n")


def test_law_skip_bad_leaves_bad_lines_blank_and_reports_them(say):
    two, child = say("Two dogs.", "A child").splitlines()
    bad = b"Two dogs.\n" + b"A" * 50 + b"\n\nA child\nZw\xf6lf\n"
    problems = r"skipped: the standard input, line 2 \('AAA.*\nskipped: .*, line 5 is not UTF-8 \(byte 3 is"
    assert say("--skip-bad", stdin=bad, err=problems) == f"{two}\n\n\n{child}\n\n"


@pytest.mark.message
def test_message_all_bad_lines_are_in_one_report(say):
    lines = (b"Two dogs.\n" + b"A" * 50 + b"\n") * 12 + b"\n\xff\n"
    report = (
        r"^error: the standard input, line 2 \('AAA(.*\n){10}and 3 more; or give --skip-bad to leave such"
    )
    assert say(stdin=lines, status=2, err=report) == ""  # not even the good lines
    for text, sentence in {
        "A\x1b[31mb": r"has the control character U\+001B, character 2 of 'A\\x1b\[31mb'; remove it; or give",
        "a\udcff": r"is not UTF-8 \(byte 2 is 0xff\); convert it to UTF-8; or give --skip-bad",
    }.items():
        say("A", text, status=2, err=f"error: argument 2 {sentence}")


def test_law_translations_before_a_signal_are_printed(say, monkeypatch):
    """They are printed before the next ones are made."""

    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        if len(texts) < TOGETHER:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        return texts

    monkeypatch.setattr(Translator, "translate", translate)
    out = say(stdin=b"dog\n" * (TOGETHER + 1), status=130, err=f"{DEVICE}interrupted\n$")
    assert out == "dog\n" * TOGETHER


@pytest.mark.message
def test_message_stdin_is_closed(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)  # as after `<&-`
    closed = "error: the standard input is closed; give a text to translate as an argument, or open it\n"
    assert run("translate", status=2) == ("", closed)
    run("translate", "Two dogs.")


def test_law_arguments_and_files_are_utf_8_in_every_locale(folder, tmp_path, say):
    printed = say("Zwölf")
    command = [sys.executable, "-m", "annotated_transformer", "translate", "--model", folder, "Zwölf"]
    ascii_ = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(command, env=ascii_, capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()[: len(DEVICE)]) == (0, DEVICE)
    assert done.stdout.decode("ascii") == printed.encode("ascii", "backslashreplace").decode()
    assert not printed.isascii()
    subprocess.run([*command, "--output", tmp_path / "out"], env=ascii_, check=True)
    assert (tmp_path / "out").read_text("utf-8") == printed


def test_law_nbest_prints_log_probability_and_text(folder: Path, say: Callable[..., str]):
    where = ["--beam", "3", "--length-penalty", "plain"]
    texts = ["Two dogs.", "", "A child"]
    out = say(*where, "--nbest", "2", *texts).splitlines()
    assert len(out) == 6
    assert out[2:4] == ["", ""]
    best = Translator.from_folder(folder).nbest(["Two dogs."], 2, beam_size=3, length_penalty=PlainLength())
    assert out[:2] == [f"{one.penalized_log_prob:.4f}\t{one.text}" for one in best[0]]
    assert [line.split("\t")[-1] for line in out[::2]] == say(*where, *texts).splitlines()


def test_law_a_pipe_is_translated_as_it_comes_and_ends_at_its_first_bad_line(say, folder: Path):
    texts = ["Two dogs.", "", "A child"]
    expected = say(*texts).splitlines()
    command = [sys.executable, "-m", "annotated_transformer", "translate", "--model", folder]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        for text, translation in zip(texts, expected, strict=True):  # each before the next is there
            process.stdin.write(f"{text}\n".encode())
            process.stdin.flush()
            assert process.stdout.readline().decode() == f"{translation}\n"
        rest, err = process.communicate(b"Two dogs.\nA\x1bb\nA child\n")
    assert rest.decode() == f"{expected[0]}\n"
    assert process.returncode == 1
    bad = r"^error: the standard input, line 5 has the control character U\+001B, .*; or give --skip-bad to"
    assert re.search(bad, err.decode(), re.MULTILINE)


@pytest.mark.message
@pytest.mark.parametrize("options", [[], ["--beam", "2", "--nbest", "2"], ENGINE])
def test_message_a_translation_was_cut_off_at_its_limit(say, options: list[str]):
    report = r"^warning: the translation of 'A child' was cut off at its limit, 37 tokens; give shorter sent"
    say(*options, "A child", err=f"(?m){report}.* --beam 4 if it repeats itself$")


def test_law_json_has_one_object_for_each_text(folder: Path, say: Callable[..., str]):
    texts = ["Two dogs. A man.", "", "A child"]
    objects = [json.loads(line) for line in say("--json", *texts).splitlines()]
    assert [one["source"] for one in objects] == texts
    assert [one_line(one["translation"]) for one in objects] == say(*texts).splitlines()
    parts = Translator.from_folder(folder).explain(["Two dogs.", "A man."])
    assert objects[0]["log_prob"] == pytest.approx(sum(part.log_prob for part in parts), abs=1e-4)
    (lines,) = map(json.loads, say("--json", stdin=b"Two dogs.\r\n").splitlines())
    assert lines["source"] == "Two dogs."
    skipped = say("--json", "--skip-bad", stdin=b"Zw\xf6lf\n...\n", err="skipped: ").splitlines()
    bad, blank = map(json.loads, skipped)
    assert (bad["source"], bad["complete"], blank["complete"]) == ("Zw?lf", False, True)
    (many,) = map(json.loads, say("--json", "--nbest", "2", "Two dogs.").splitlines())
    best, other = (one["text"] for one in many["nbest"])
    assert best == many["translation"] != other


def test_law_samples_can_be_drawn_again_from_their_seed(say, run):
    drawn, texts = set(), ["Two dogs.", "A child"]
    for _ in range(3):
        out, err = run("translate", "--sample", *texts)
        seed = re.match(rf"these samples are drawn with --seed (\d+)\n{DEVICE}", err)[1]
        assert say("--sample", "--seed", seed, *texts) == out
        drawn.add(out)
    assert len(drawn) == 3
    assert say("--sample", "--seed", "1", "--temperature", "1e-9", *texts) == say(*texts)
    apart = say("--sample", "--seed", "1", "--batch-size", "1", *texts[::-1], *texts)
    assert say("--sample", "--seed", "1", *texts[::-1], *texts) == apart


class Terminal(io.TextIOWrapper):
    """A stream that reports to be a terminal."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True


def test_law_in_a_terminal_each_sentence_is_translated_at_once(say, run, monkeypatch):
    two, child = say("Two dogs.", "A child").splitlines()
    bad = b"A" * 50 + b"\n" + b"It is cut off. " * 273  # 4,095 bytes
    monkeypatch.setattr(sys, "stdin", Terminal(b"Two dogs.\n\n" + bad + b"\nZw\xf6lf\nA child"))
    out, err = run("translate")
    assert out == f"{two}\n{child}\n"
    assert err.startswith(f"{DEVICE}Type a sentence and press Enter to translate it. Ctrl-D ends.\n> ")
    assert err.count("> ") == 7
    assert "the terminal cut this line off at 4,095 bytes; give it by --input, or in a pipe" in err
    assert "the text ('AAAA" in err
    assert "the text is not UTF-8 (byte 3 is 0xf6)" in err


def test_law_a_text_is_translated_sentence_by_sentence(say: Callable[..., str]):
    two, man = say("Two dogs.", "Dr. A man is sleeping.").splitlines()
    assert say("Two dogs.  Dr. A man is sleeping. Two dogs.", "") == f"{two} {man} {two}\n\n"
    short = "Two dogs. A child"
    whole = Translator.from_pretrained().translate([short], split=False)[0]
    assert say("--no-split", short) == f"{whole}\n" != say(short)


def test_oracle_ctranslate2_prints_what_we_print(say, monkeypatch):
    texts = ["Two dogs. A child 🙂", "A man is sleeping in the park."]
    assert say(*ENGINE, "--engine-dtype", "float32", *texts) == say(*texts)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)  # the engine computes on the CPU
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    out = say(*ENGINE, "--nbest", "3", "--length-penalty", "plain", texts[1])
    log_probs = [float(line.split("\t")[0]) for line in out.splitlines()]
    assert log_probs == sorted(log_probs, reverse=True)
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    say(*ENGINE, "A", status=2, err=r"^error: .*pip install '\.\[interop\]'.*\n$")
