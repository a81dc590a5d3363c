"""The command `translate`: one output line per input line, whatever the text, and its error messages."""

import functools
import io
import os
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer.commands import options as shared
from annotated_transformer.commands import output
from annotated_transformer.commands import translate as module
from annotated_transformer.commands.signals import SIGNALS
from annotated_transformer.commands.translate import PROMPT
from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength
from annotated_transformer.decoding.translator import RankedTranslation, Translator

TOGETHER = 128  # lines translated before the first of them is printed


def feed(data: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make `data` the standard input."""
    (tmp_path / "stdin").write_bytes(data)
    monkeypatch.setattr(sys, "stdin", (tmp_path / "stdin").open(encoding="utf-8"))


@pytest.mark.parametrize("options", [[], ["--sample"], ["--nbest", "1"]])
def test_law_each_input_line_gives_one_output_line(
    options: list[str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    feed("<b>a</b>\nA\x0bB\x1b[2J\u2028C\nTwo".encode(), monkeypatch, tmp_path)
    with sys.stdin:
        for name in ("translate", "sample"):
            monkeypatch.setattr(Translator, name, lambda self, texts, **_: texts)
        ranked = functools.partial(RankedTranslation, log_prob=-1.0, penalized_log_prob=-0.5)
        monkeypatch.setattr(
            Translator, "nbest", lambda self, texts, n, **_: [[ranked(text)] for text in texts]
        )
        assert command_line.main(["translate", "--model", str(folder), *options]) == 0
    score = "-0.5000\t" if "--nbest" in options else ""
    expected = ["<b>a</b>", "A\\x0bB\\x1b[2J\\u2028C", "Two"]
    assert capsys.readouterr().out.split("\n") == [*(score + line for line in expected), ""]


def test_law_the_default_model_is_the_packaged_one(pretrained: Path, capsys: pytest.CaptureFixture[str]):
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
    assert out.endswith(f"\n{alone}")  # the other text is not affected
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
        (["A" * 50], "split it into shorter sentences; or give --skip-bad to leave such lines blank"),
        (["a\udcff"], "argument 1 is not UTF-8 (byte 2 is 0xff); convert it to UTF-8; or give --skip-bad"),
        (["--pretrained", "en-fr", "A"], "this package has no model 'en-fr' (it has en-de); choose one"),
    ],
)
def test_message_a_user_error_is_one_sentence(
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
    assert fifth.startswith("skipped: the standard input, line 5 is not UTF-8 (byte 3 is 0xf6)")
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
        assert out == ""  # not even the good lines, nor those before the first bad one
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


def test_law_arguments_and_files_are_utf_8_in_every_locale(folder: Path, tmp_path: Path):
    program = "import sys; from annotated_transformer.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "translate", "--model", str(folder), "Zwölf"]
    said = []
    for changes in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        done = subprocess.run(command, env={**os.environ, **changes}, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        said.append(done.stdout)
    utf_8, ascii_ = said
    assert ascii_.decode("ascii") == utf_8.decode().encode("ascii", "backslashreplace").decode()
    assert ascii_ != utf_8
    subprocess.run([*command, "--output", tmp_path / "out"], env={**os.environ, **changes}, check=True)
    assert (tmp_path / "out").read_bytes() == utf_8


@pytest.mark.message
def test_message_model_and_pretrained_are_mutually_exclusive(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        command_line.main(["translate", "--model", "m", "--pretrained", "en-de", "A"])
    assert "argument --pretrained: not allowed with argument --model" in capsys.readouterr().err


@pytest.mark.message
@pytest.mark.usefixtures("pretrained")
def test_message_all_problems_are_in_one_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    feed(b"One\n\xff\nTwo\n" + b"A" * 50 + b"\n", monkeypatch, tmp_path)
    with sys.stdin:
        assert command_line.main(["translate"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("error: the standard input, line 2 is not UTF-8 (byte 1 is 0xff)")
    assert second.startswith("the standard input, line 4 ('AAAA")
    assert second.endswith("; or give --skip-bad to leave such lines blank")


@pytest.mark.message
@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "nothing to translate; give a text, such as"),
        (b"One\n\n" + b"A" * 50 + b"\nTwo\n", "the standard input, line 3 ('AAAA"),
        (b"One\nZ\xc3\xb6w\xf6lf\n", "the standard input, line 2 is not UTF-8 (byte 5 is 0xf6); convert it"),
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


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Write a file of three lines; the second is blank."""
    (tmp_path / "in").write_text("Two dogs.\n\nA child\n", encoding="utf-8")
    return tmp_path / "in"


@pytest.mark.usefixtures("pretrained")
def test_law_a_file_is_translated_to_a_file(lines: Path, capsys: pytest.CaptureFixture[str]):
    assert command_line.main(["translate", "Two dogs.", "", "A child"]) == 0
    said = capsys.readouterr().out
    assert said.count("\n") == 3
    out = lines.with_name("out")
    for before in (None, "older " * 99):
        if before is not None:
            out.write_text(before)
        assert command_line.main(["translate", "--input", str(lines), "--output", str(out)]) == 0
        assert capsys.readouterr() == ("", "")
        assert out.read_text("utf-8") == said
    assert command_line.main(["translate", "--input", str(lines)]) == 0
    assert capsys.readouterr().out == said
    assert command_line.main(["translate", "--input", str(lines), "--output", os.devnull]) == 0


@pytest.mark.usefixtures("pretrained")
def test_law_a_file_holds_what_was_translated_before_a_signal(
    lines: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def translate(self: Translator, texts: list[str], *, batch_size: int, **search: object) -> list[str]:
        assert batch_size == 3
        if len(texts) < 6:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        return texts

    monkeypatch.setattr(Translator, "translate", translate)
    lines.write_text("dog\n" * 7)
    out = lines.with_name("out")
    arguments = ["translate", "--input", str(lines), "--output", str(out), "--batch-size", "3"]
    assert command_line.main(arguments) == 143
    assert out.read_text() == "dog\n" * 6


@pytest.mark.usefixtures("pretrained")
def test_law_an_existing_output_survives_a_user_error(lines: Path, capsys: pytest.CaptureFixture[str]):
    out = lines.with_name("out")
    out.write_text("older")
    lines.write_text("A" * 50 + "\n")
    where = ["--input", str(lines), "--output", str(out)]
    assert command_line.main(["translate", *where]) == 2
    assert f"error: {lines}, line 1 ('AAAA" in capsys.readouterr().err
    lines.write_text("Two dogs.\n")
    for option in ("--beam", "--batch-size", "--nbest"):
        assert command_line.main(["translate", *where, option, "0"]) == 2
        assert f"error: {option} 0" in capsys.readouterr().err
    assert out.read_text() == "older"


@pytest.mark.message
@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--input", "in", "A"], "there are texts and --input in; give one or the other"),
        (["--input", "in", "--output", "in"], "--output in would replace --input; give another name"),
        (["--input", "in", "--output", "link"], "--output link would replace --input; give another"),
        (["--input", "nowhere"], "--input nowhere does not exist; give the name of a file"),
        (
            ["--input", "in", "--output", "nowhere/out"],
            "--output nowhere/out cannot be written: there is no folder nowhere; make it, or give another",
        ),
        (["--alpha", "1", "A"], "--alpha has an effect only on beam search; give --beam 2 or more, or leave"),
        (
            ["--length-penalty", "gnmt", "A"],
            "--length-penalty has an effect only on beam search; give --beam",
        ),
        (["--input", "folder"], "--input folder is not a regular file; give another name"),
        (["--input", "fifo"], "--input fifo is not a regular file; give another name"),
        (["--output", "folder", "A"], "--output folder is not a regular file; give another name"),
        (["--output", "fifo", "A"], "--output fifo is not a regular file; give another name"),
        (
            ["--nbest", "3", "A"],
            "--nbest 3 hypotheses are more than --beam 1 finds; give --beam 3 or more",
        ),
        (
            ["--nbest", "0", "--beam", "2", "A"],
            "--nbest 0 is not a number of hypotheses; give a whole",
        ),
        (["--temperature", "2", "A"], "--temperature has an effect only with --sample; add --sample, or"),
        (["--top-k", "2", "A"], "--top-k has an effect only with --sample; add --sample, or leave --top-k o"),
        (["--seed", "0", "A"], "--seed has an effect only with --sample; add --sample, or leave --seed out"),
        (["--sample", "--beam", "2", "A"], "--beam is an option of search, and --sample draws; le"),
        (["--sample", "--nbest", "1", "A"], "--nbest is an option of search, and --sample dr"),
        (["--sample", "--alpha", "0", "A"], "--alpha is an option of search, and --sample draws; leave"),
        (
            ["--sample", "--length-penalty", "plain", "A"],
            "--length-penalty is an option of search, and --sam",
        ),
        (["--sample", "--seed", str(2**32), "A"], f"--seed {2**32}, of which PyTorch's generator would"),
        (["--sample", "--temperature", "0", "A"], "--temperature 0.0 is not a temperature, which is"),
        (["--sample", "--top-k", "0", "A"], "--top-k 0 keeps no token; for top-k, give a positive"),
        (["--sample", "--top-p", "2", "A"], "--top-p 2.0 is not in (0, 1], as top-p needs it; 1 keeps"),
    ],
)
def test_message_options_that_do_not_fit(
    lines: Path,
    arguments: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(lines.parent)
    Path("folder").mkdir()
    os.mkfifo("fifo")
    Path("link").symlink_to("in")
    assert command_line.main(["translate", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {sentence}")
    assert err.count("\n") == 1
    assert lines.read_text() == "Two dogs.\n\nA child\n"


def test_law_nbest_prints_log_probability_and_text(folder: Path, capsys: pytest.CaptureFixture[str]):
    where = ["translate", "--model", str(folder), "--beam", "3", "--length-penalty", "plain"]
    texts = ["Two dogs.", "", "A child"]
    assert command_line.main([*where, *texts]) == 0
    best = capsys.readouterr().out.splitlines()
    assert command_line.main([*where, "--nbest", "2", *texts]) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 6
    assert out[2:4] == ["", ""]
    found = Translator.from_folder(folder).nbest(["Two dogs."], 2, beam_size=3, length_penalty=PlainLength())
    assert out[:2] == [f"{one.penalized_log_prob:.4f}\t{one.text}" for one in found[0]]
    assert [line.split("\t")[-1] for line in out[::2]] == best


def test_law_nbest_with_one_hypothesis_is_divided_by_the_length_penalty(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    where = ["translate", "--model", str(folder), "--nbest", "1", "--alpha", "0", "Two dogs."]
    assert command_line.main(where) == 0
    (one,) = Translator.from_folder(folder).nbest(
        ["Two dogs."], 1, beam_size=1, length_penalty=GnmtLength(0.0)
    )[0]
    assert capsys.readouterr().out == f"{one.log_prob:.4f}\t{one.text}\n"


class Terminal(io.TextIOWrapper):
    """A stream that reports to be a terminal."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        """Return the text written."""
        return self.buffer.getvalue().decode()


@pytest.mark.usefixtures("pretrained")
def test_law_in_a_terminal_each_sentence_is_translated_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    assert command_line.main(["translate", "Two dogs.", "A child"]) == 0
    two, child = capsys.readouterr().out.splitlines()
    typed = b"Two dogs.\n\n" + b"A" * 50 + b"\nZw\xf6lf\nA child"
    for to in ([], ["--output", str(tmp_path / "out")]):
        monkeypatch.setattr(sys, "stdin", Terminal(typed))
        assert command_line.main(["translate", *to]) == 0
        out, err = capsys.readouterr()
        assert ((tmp_path / "out").read_text() if to else out) == f"{two}\n{child}\n"
        assert err.count(PROMPT) == 6
        assert err.startswith(f"Type a sentence and press Enter to translate it. Ctrl-D ends.\n{PROMPT}")
        assert "the text ('AAAA" in err
        assert "the text is not UTF-8 (byte 3 is 0xf6)" in err
        assert err.endswith(f"{PROMPT}\n")


@pytest.mark.usefixtures("pretrained")
def test_law_a_text_or_a_file_is_translated_in_a_terminal(
    lines: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    for arguments in (["A child"], ["--input", str(lines)]):
        monkeypatch.setattr(sys, "stdin", Terminal(b"Two dogs.\n"))
        assert command_line.main(["translate", *arguments]) == 0
        assert PROMPT not in capsys.readouterr().err


@pytest.mark.usefixtures("pretrained")
def test_law_a_progress_bar_never_shares_the_terminal_with_translations(
    lines: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    out = ["--output", str(lines.with_name("out"))]
    for terminals, options, shown in (
        (["stderr"], [], True),
        (["stderr", "stdout"], [], False),
        (["stderr", "stdout"], out, True),
        (["stdout"], out, False),
    ):
        streams = {name: Terminal() for name in terminals}
        with monkeypatch.context() as patch:
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            assert command_line.main(["translate", "--input", str(lines), *options]) == 0
        written = streams["stderr"].text() if "stderr" in streams else capsys.readouterr().err
        assert ("3/3" in written and " texts/s" in written) == shown
        assert shown or written == ""


@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_law_the_model_is_on_the_given_device(
    command: str, lines: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    asked, found = [], []

    def take(name: str | None) -> torch.device:
        asked.append(name)
        return torch.device("meta")  # exists on every machine

    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        found.append(next(self.model.parameters()).device)
        return texts

    monkeypatch.setattr(shared, "take_device", take)
    monkeypatch.setattr(Translator, "translate", translate)
    for language in ("en", "de"):
        lines.with_name(f"test.{language}").write_text("A child\n")
    given = ["A child"] if command == "translate" else ["--split", "test", "--data", str(lines.parent)]
    assert command_line.main([command, *given]) == 0
    assert command_line.main([command, *given, "--device", "cuda"]) == 0
    assert asked == ["cpu", "cuda"]
    assert found == [torch.device("meta")] * 2


@pytest.mark.usefixtures("pretrained")
def test_law_a_text_is_translated_sentence_by_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    assert command_line.main(["translate", "Two dogs.", "Dr. A man is sleeping."]) == 0
    two, man = capsys.readouterr().out.splitlines()
    long = "Two dogs.  Dr. A man is sleeping. Two dogs."
    assert command_line.main(["translate", long, "", "Two dogs."]) == 0
    assert capsys.readouterr().out == f"{two} {man} {two}\n\n{two}\n"
    monkeypatch.setattr(sys, "stdin", Terminal(long.encode()))
    assert command_line.main(["translate"]) == 0
    assert capsys.readouterr().out == f"{two} {man} {two}\n"
    short = "Two dogs. A child"
    assert command_line.main(["translate", "--no-split", short]) == 0
    whole = capsys.readouterr().out
    assert whole == f"{Translator.from_pretrained().translate([short])[0]}\n"
    assert command_line.main(["translate", short]) == 0
    assert capsys.readouterr().out != whole
    assert command_line.main(["translate", "--beam", "2", "--nbest", "1", short]) == 0
    best = Translator.from_pretrained().translate([short], beam_size=2)
    assert capsys.readouterr().out.split("\t")[1] == f"{best[0]}\n"


@pytest.mark.usefixtures("pretrained")
def test_law_a_sentence_that_is_too_long_affects_only_its_text(capsys: pytest.CaptureFixture[str]):
    assert command_line.main(["translate", "Two dogs."]) == 0
    two = capsys.readouterr().out
    long = f"Two dogs. {'A' * 50}. {'B' * 50}."
    assert command_line.main(["translate", "--skip-bad", "Two dogs.", long, "Two dogs."]) == 0
    out, err = capsys.readouterr()
    assert out == f"{two}\n{two}"
    assert err.startswith("skipped: argument 2 ('AAAA")
    assert err.count("\n") == 1
    assert command_line.main(["translate", "Two dogs. " * 20]) == 0  # together, they would be too long
    assert capsys.readouterr().out == " ".join([two.strip()] * 20) + "\n"


@pytest.mark.parametrize(
    ("options", "language"),
    [
        ([], "en"),
        (["--pretrained", "de-en"], "de"),
        (["--model", "folder"], "en"),
        (["--model", "folder", "--source", "fr"], "fr"),
        (["--pretrained", "de-en", "--source", "cs"], "cs"),
    ],
)
def test_law_sentences_are_split_by_the_rules_of_the_source_language(
    options: list[str], language: str, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    asked = []

    def split(text: str, language: str) -> list[str]:
        asked.append(language)
        return [text]

    monkeypatch.setattr(module, "split_sentences", split)
    monkeypatch.setattr(Translator, "from_pretrained", lambda name: Translator.from_folder(folder))
    given = [str(folder) if option == "folder" else option for option in options]
    assert command_line.main(["translate", *given, "Two dogs."]) == 0
    assert asked == [language]
