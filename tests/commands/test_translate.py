"""The command `translate`: one line for each line, whatever the text, and its error messages."""

import os
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.commands import output
from annotated_transformer.commands.signals import SIGNALS
from annotated_transformer.commands.translate import TOGETHER
from annotated_transformer.decoding.translator import Translator


def feed(data: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make `data` the standard input."""
    (tmp_path / "stdin").write_bytes(data)
    monkeypatch.setattr(sys, "stdin", (tmp_path / "stdin").open(encoding="utf-8"))


def test_law_one_line_for_each_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    feed("<b>a</b>\nA\x0bB\x1b[2J\u2028C\nTwo".encode(), monkeypatch, tmp_path)
    with sys.stdin:
        monkeypatch.setattr(Translator, "translate", lambda self, texts, **search: texts)
        assert command_line.main(["translate", "--model", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == ["<b>a</b>", "A\\x0bB\\x1b[2J\\u2028C", "Two"]


def test_law_without_a_model_it_is_the_one_of_the_package(
    pretrained: Path, capsys: pytest.CaptureFixture[str]
):
    said = []
    for model in ([], ["--pretrained", "en-de"], ["--model", str(pretrained)]):
        assert command_line.main(["translate", *model, "Two dogs.", "A child"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] == said[2]
    assert said[0].splitlines() == Translator.from_folder(pretrained).translate(["Two dogs.", "A child"])


ODD = {
    "markup": "<script>alert(1)</script>",
    "special tokens": "<eos><pad>",
    "control characters": "a\x00\x1b[31mb\x07",
    "other scripts": "漢字 ☂ שלום",
    "emoji": "🎉👩‍👩‍👧",
    "right to left": "\u202eabc",
    "line breaks": "a\r\nb\u2028c\n",
    "a mark without its letter": "\u0301",
    "a letter with many marks": "a" + "\u0301" * 11,
}


@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_law_any_text_gives_one_line_without_control_characters(
    text: str, capsys: pytest.CaptureFixture[str]
):
    assert command_line.main(["translate", "Two dogs."]) == 0
    alone = capsys.readouterr().out
    assert command_line.main(["translate", text, "Two dogs."]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 2
    assert out.endswith(f"\n{alone}")  # its neighbour does not suffer
    assert {c for c in out if unicodedata.category(c) == "Cc"} == {"\n"}


@pytest.mark.usefixtures("pretrained")
def test_law_texts_that_are_the_same_after_cleaning_have_the_same_translation(
    capsys: pytest.CaptureFixture[str],
):
    assert command_line.main(["translate", 'Two "dogs".', " Two\u00a0\u200b “dogs”.\n", "Two dogs."]) == 0
    plain, curly, other = capsys.readouterr().out.splitlines()
    assert plain == curly
    assert plain != other


@pytest.mark.message
@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--beam", "0", "A"], "--beam 0 keeps no hypothesis"),
        (["--beam", "2", "--alpha", "-1", "A"], "--alpha -1.0 would reward short targets; give 0"),
        (["A" * 50], "has 51 tokens with EOS, and this model has positions for 37; split it"),
        (["dog " * 10_000], "has 40001 tokens with EOS, and this model has positions for 37"),
        (["A", "A" * 50], "argument 2 ('A"),
        (["A" * 50], "split it into sentences; or give --skip-bad to leave such lines blank"),
        (["a\udcff"], "argument 1 is not valid Unicode: it has half of a surrogate pair"),
        (["--pretrained", "en-fr", "A"], "this package has no model 'en-fr' (it has en-de); choose one"),
    ],
)
def test_message_a_mistake_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
):
    assert command_line.main(["translate", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize("data", [b"\n", b"\n\n", b" \nTwo dogs.\n\n\xc2\xa0\r\n\nA child\n\n"])
def test_law_blank_lines_stay_where_they_are(
    data: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    assert command_line.main(["translate", "Two dogs.", "A child"]) == 0
    said = iter(capsys.readouterr().out.splitlines())
    feed(data, monkeypatch, tmp_path)
    with sys.stdin:
        assert command_line.main(["translate"]) == 0
    expected = [next(said) if line.strip() else "" for line in data.decode().splitlines()]
    assert capsys.readouterr() == ("".join(f"{line}\n" for line in expected), "")


@pytest.mark.usefixtures("pretrained")
def test_law_skip_bad_leaves_bad_lines_blank_and_reports_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    assert command_line.main(["translate", "Two dogs.", "A child"]) == 0
    two, child = capsys.readouterr().out.splitlines()
    feed(b"Two dogs.\n" + b"A" * 50 + b"\n\nA child\nZw\xf6lf\n", monkeypatch, tmp_path)
    with sys.stdin:
        assert command_line.main(["translate", "--skip-bad"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{two}\n\n\n{child}\n\n"
    second, fifth = err.splitlines()
    assert second.startswith("skipped: the standard input, line 2 ('AAA")
    assert fifth.startswith("skipped: the standard input, line 5 is not valid Unicode")
    assert command_line.main(["translate", "--skip-bad", "A" * 50, "Two dogs."]) == 0
    assert capsys.readouterr().out == f"\n{two}\n"


@pytest.mark.message
@pytest.mark.usefixtures("pretrained")
def test_message_all_bad_lines_are_in_one_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for bad, more in ((10, None), (13, "and 3 more")):
        feed((b"Two dogs.\n" + b"A" * 50 + b"\n") * bad, monkeypatch, tmp_path)
        with sys.stdin:
            assert command_line.main(["translate"]) == 2
        out, err = capsys.readouterr()
        assert out == ""  # not even what is good, nor before the bad lines
        lines = err.removesuffix("; or give --skip-bad to leave such lines blank\n").splitlines()
        assert lines[10:] == ([] if more is None else [more])
        assert [int(line.split("line ")[1].split()[0]) for line in lines[:10]] == list(range(2, 21, 2))


@pytest.mark.usefixtures("pretrained")
def test_law_translations_are_printed_before_the_next_are_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    lines = [f"{'dog ' * (i % 7)}{i}" for i in range(2 * TOGETHER + 3)]
    seen, flushed, calls = "", 0, []

    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        nonlocal seen
        seen += capsys.readouterr().out
        assert seen.count("\n") == flushed == len(calls)
        calls.extend(texts)
        return [f"<{text}>" for text in texts]

    def show(*values: object, flush: bool = False, **options: object) -> None:
        nonlocal flushed
        print(*values, **options)
        flushed += flush

    monkeypatch.setattr(Translator, "translate", translate)
    monkeypatch.setattr(output, "print", show, raising=False)
    feed("".join(f"{line}\n" for line in lines).encode(), monkeypatch, tmp_path)
    with sys.stdin:
        assert command_line.main(["translate"]) == 0
    seen += capsys.readouterr().out
    assert calls == lines
    assert seen.splitlines() == [f"<{line}>" for line in lines]


@pytest.mark.parametrize(
    ("signal_", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
@pytest.mark.usefixtures("pretrained")
def test_law_translations_before_a_signal_are_printed(
    signal_: int,
    status: int,
    word: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        if len(texts) < TOGETHER:
            os.kill(os.getpid(), signal_)
            time.sleep(60)
        return texts

    monkeypatch.setattr(Translator, "translate", translate)
    feed(b"dog\n" * (TOGETHER + 1), monkeypatch, tmp_path)
    before = [signal.getsignal(number) for number in SIGNALS]
    with sys.stdin:
        assert command_line.main(["translate"]) == status
    assert capsys.readouterr() == ("dog\n" * TOGETHER, f"{word}\n")
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.message
@pytest.mark.usefixtures("pretrained")
def test_message_stdin_is_closed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)  # as after `<&-`
    assert command_line.main(["translate"]) == 2
    assert capsys.readouterr().err == (
        "error: the standard input is closed; give a text to translate as an argument, or open it\n"
    )
    assert command_line.main(["translate", "Two dogs."]) == 0


def test_law_arguments_are_utf_8_in_every_locale(folder: Path):
    program = "import sys; from annotated_transformer.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "translate", "--model", str(folder), "Zwölf"]
    said = []
    for changes in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        done = subprocess.run(command, env={**os.environ, **changes}, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        said.append(done.stdout)
    utf_8, ascii_ = said
    assert ascii_.decode("ascii") == utf_8.decode().encode("ascii", "backslashreplace").decode()


@pytest.mark.message
def test_message_two_models(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        command_line.main(["translate", "--model", "m", "--pretrained", "en-de", "A"])
    assert "argument --pretrained: not allowed with argument --model" in capsys.readouterr().err


@pytest.mark.message
@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "nothing to translate; give a text, such as"),
        (b"One\n\n" + b"A" * 50 + b"\nTwo\n", "the standard input, line 3 ('AAAA"),
        (b"One\nZw\xf6lf\n", "the standard input, line 2: byte 3 is 0xf6, which is not UTF-8"),
    ],
)
@pytest.mark.usefixtures("pretrained")
def test_message_lines_that_cannot_be_translated(
    data: bytes,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    feed(data, monkeypatch, tmp_path)
    with sys.stdin:
        assert command_line.main(["translate"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {sentence}")
    assert err.count("\n") == 1
