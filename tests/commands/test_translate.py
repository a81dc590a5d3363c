"""The command `translate`: one output line per input line, whatever the text, and its error messages."""

import bz2
import functools
import gzip
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.commands import loading as shared
from annotated_transformer.commands import output
from annotated_transformer.commands import translate as module
from annotated_transformer.commands.signals import SIGNALS
from annotated_transformer.commands.translate import PROMPT
from annotated_transformer.config import TINY
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.decoding.translator import RankedTranslation, Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.sentence_pieces import SentencePieceTokenizer
from tests.commands.conftest import DEVICE
from tests.text.test_sentence_pieces import VOCABULARY, side

pytestmark = pytest.mark.usefixtures("pretrained")
WEIGHTS = checkpoint.PRETRAINED
TOGETHER = 128  # lines translated before the first of them is printed


def feed(data: bytes, monkeypatch, tmp_path: Path) -> None:
    (tmp_path / "stdin").write_bytes(data)
    monkeypatch.setattr(sys, "stdin", (tmp_path / "stdin").open(encoding="utf-8"))


@pytest.fixture
def say(capsys) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        assert command_line.main(["translate", *arguments]) == 0
        out, err = capsys.readouterr()
        assert err == DEVICE
        return out

    return run


@pytest.mark.parametrize("options", [[], ["--sample", "--seed", "0"], ["--beam", "2", "--nbest", "2"]])
def test_law_each_input_line_gives_one_output_line(options, folder, capsys, monkeypatch, tmp_path):
    feed(b"<b>a</b>\nA\x0bB\x0cC\nTwo", monkeypatch, tmp_path)
    controls = {" ": "\x1b", "B": "B\u2028\x0b\n"}  # a model may generate any byte

    def answer(text: str) -> str:
        return "".join(controls.get(character, character) for character in text)

    with sys.stdin:
        for name in ("translate", "sample"):
            monkeypatch.setattr(Translator, name, lambda self, texts, **_: list(map(answer, texts)))
        ranked = functools.partial(RankedTranslation, log_prob=-1.0, penalized_log_prob=-0.5)
        monkeypatch.setattr(
            Translator, "nbest", lambda self, texts, n, **_: [[ranked(answer(text))] for text in texts]
        )
        assert command_line.main(["translate", "--model", str(folder), *options]) == 0
    said = capsys.readouterr().out.split("\n")
    expected = ["<b>a</b>", "A\\x1bB\\u2028\\x0b\\n\\x1bC", "Two", ""]
    if "--nbest" in options:  # two lines for each, though only one hypothesis was found
        assert said[::2] == [*(f"-0.5000\t{line}" for line in expected[:-1]), ""]
        assert said[1::2] == [""] * 3
    else:
        assert said == expected


def test_law_the_default_model_is_the_packaged_one(pretrained: Path, say: Callable[..., str]):
    texts = ["Two dogs.", "A child"]
    said = say(*texts)
    assert said.splitlines() == Translator.from_folder(pretrained).translate(texts)
    assert say("--pretrained", "en-de", *texts) == say("--model", str(pretrained), *texts) == said


@pytest.mark.parametrize("data", [b"\n", b" \nTwo dogs.\n\n\xc2\xa0\r\n\nA child\n\n"])
def test_law_blank_lines_stay_where_they_are(data, say, monkeypatch, tmp_path):
    said = iter(say("Two dogs.", "A child").splitlines())
    feed(data, monkeypatch, tmp_path)
    with sys.stdin:
        found = say()
    expected = [next(said) if line.strip() else "" for line in data.decode().splitlines()]
    assert found == "".join(f"{line}\n" for line in expected)


def test_law_skip_bad_leaves_bad_lines_blank_and_reports_them(capsys, monkeypatch, tmp_path: Path):
    assert command_line.main(["translate", "Two dogs.", "A child"]) == 0
    two, child = capsys.readouterr().out.splitlines()
    feed(b"Two dogs.\n" + b"A" * 50 + b"\n\nA child\nZw\xf6lf\n", monkeypatch, tmp_path)
    with sys.stdin:
        assert command_line.main(["translate", "--skip-bad"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{two}\n\n\n{child}\n\n"
    second, fifth, device = err.splitlines(keepends=True)
    assert device == DEVICE
    assert second.startswith("skipped: the standard input, line 2 ('AAA")
    assert fifth.startswith("skipped: the standard input, line 5 is not UTF-8 (byte 3 is 0xf6)")


@pytest.mark.message
@pytest.mark.parametrize("skip", [[], ["--skip-bad"]])
def test_message_a_file_that_is_bad_as_a_whole(skip: list[str], capsys, monkeypatch, tmp_path: Path):
    text = "Two dogs.\nA child.\n"
    for raw, sentence in {
        text.encode("UTF-16"): "is UTF-16, not UTF-8; convert the text to UTF-8",
        text.replace("\n", "\r").encode(): "has carriage returns within its lines (1 in 1), as old",
        bz2.compress(text.encode()): "is compressed by bzip2, not UTF-8; unpack it, or export its text",
        gzip.compress(text.encode())[:-5]: "is not a complete archive",
    }.items():
        feed(raw, monkeypatch, tmp_path)
        assert command_line.main(["translate", *skip, "--input", str(tmp_path / "stdin")]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"error: {tmp_path / 'stdin'} {sentence}")
        with sys.stdin:
            assert command_line.main(["translate", *skip]) == 2
        assert capsys.readouterr().err.startswith("error: the standard input ")


@pytest.mark.message
def test_message_all_bad_lines_are_in_one_report(capsys, monkeypatch, tmp_path: Path):
    for bad, more in ((10, None), (13, "and 3 more")):
        feed((b"Two dogs.\n" + b"A" * 50 + b"\n") * (bad - 1) + b"\n\xff\n", monkeypatch, tmp_path)
        with sys.stdin:
            assert command_line.main(["translate"]) == 2
        out, err = capsys.readouterr()
        assert out == ""  # not even the good lines, nor those before the first bad one
        lines = err.removesuffix("; or give --skip-bad to leave such lines blank\n").splitlines()
        assert lines[0].startswith("error: the standard input, line 2 ('AAAA")
        assert lines[10:] == ([] if more is None else [more])
        assert [int(line.split("line ")[1].split()[0]) for line in lines[:10]] == list(range(2, 21, 2))
        last = "the standard input, line 20 is not UTF-8 (byte 1 is 0xff); convert it"
        assert lines[9].startswith(last) == (more is None)


def test_law_translations_are_printed_before_the_next_are_made(capsys, monkeypatch, tmp_path: Path):
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


def test_law_translations_before_a_signal_are_printed(capsys, monkeypatch, tmp_path: Path):
    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        if len(texts) < TOGETHER:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        return texts

    monkeypatch.setattr(Translator, "translate", translate)
    feed(b"dog\n" * (TOGETHER + 1), monkeypatch, tmp_path)
    before = [signal.getsignal(number) for number in SIGNALS]
    with sys.stdin:
        assert command_line.main(["translate"]) == 130
    assert capsys.readouterr() == ("dog\n" * TOGETHER, f"{DEVICE}interrupted\n")
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.message
def test_message_stdin_is_closed(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)  # as after `<&-`
    assert command_line.main(["translate"]) == 2
    assert capsys.readouterr().err == (
        "error: the standard input is closed; give a text to translate as an argument, or open it\n"
    )
    assert command_line.main(["translate", "Two dogs."]) == 0


def test_law_arguments_and_files_are_utf_8_in_every_locale(folder, tmp_path, say):
    said = say("--model", str(folder), "Zwölf")
    program = "import sys; from annotated_transformer.__main__ import main; out, *arguments = sys.argv[1:]; "
    program += "sys.exit(main(arguments) or main([*arguments, '--output', out]))"
    command = [sys.executable, "-c", program, tmp_path / "out", "translate", "--model", folder, "Zwölf"]
    ascii_ = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(command, env={**os.environ, **ascii_}, capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, DEVICE * 2)
    assert done.stdout.decode("ascii") == said.encode("ascii", "backslashreplace").decode()
    assert not said.isascii()
    assert (tmp_path / "out").read_text("utf-8") == said


@pytest.mark.message
def test_message_model_and_pretrained_are_mutually_exclusive(capsys):
    with pytest.raises(SystemExit, match="2"):
        command_line.main(["translate", "--model", "m", "--pretrained", "en-de", "A"])
    assert "argument --pretrained: not allowed with argument --model" in capsys.readouterr().err


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    (tmp_path / "in").write_text("Two dogs.\n\nA child\n", encoding="utf-8")
    return tmp_path / "in"


def test_law_a_file_is_translated_to_a_file(lines: Path, say: Callable[..., str]):
    said = say("Two dogs.", "", "A child")
    assert said.count("\n") == 3
    out = lines.with_name("out")
    for before in (None, "older " * 99):
        if before is not None:
            out.write_text(before)
        assert say("--input", str(lines), "--output", str(out)) == ""
        assert out.read_text("utf-8") == said
    assert say("--input", str(lines)) == said
    for name in ("in.gz", "compressed"):
        lines.with_name(name).write_bytes(gzip.compress(lines.read_bytes()))
        assert say("--input", str(lines.with_name(name))) == said
    assert say("--input", str(lines), "--output", os.devnull) == ""


TOO_LONG = "has 51 tokens with EOS, and this model has positions for 37; split it into shorter sentences"
SKIP = "or give --skip-bad to leave such lines blank"
OF_SEARCH = "is an option of search, and --sample draws; leave one of them out"


@pytest.mark.message
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--beam", "0", "A"],
            "--beam 0 keeps no hypothesis; give 1 (greedy search) or more, a whole number",
        ),
        (
            ["--beam", "2", "--alpha", "-1", "A"],
            "--alpha -1.0 would reward short targets; give 0 (no penalty) or more",
        ),
        (["A" * 50], f"argument 1 ('{'A' * 40}'…) {TOO_LONG}; {SKIP}"),
        (["A", "A" * 50], f"argument 2 ('{'A' * 40}'…) {TOO_LONG}; {SKIP}"),
        (
            ["A", "Two dogs. A\x1b[31mb"],
            f"argument 2 has the control character U+001B, character 2 of 'A\\x1b[31mb'; remove it; {SKIP}",
        ),
        (["a\udcff"], f"argument 1 is not UTF-8 (byte 2 is 0xff); convert it to UTF-8; {SKIP}"),
        (
            ["--pretrained", "en-fr", "A"],
            "this package has no model 'en-fr' (it has en-de); choose one of these, or give the folder of a "
            "model that you trained",
        ),
        (["--input", "in", "A"], "there are texts and --input in; give one or the other"),
        (["--input", "in", "--output", "in"], "--output in would replace --input; give another name"),
        (["--input", "in", "--output", "link"], "--output link would replace --input; give another name"),
        (["--input", "nowhere"], "--input nowhere does not exist; give the name of a file"),
        (
            ["--input", "in", "--output", "nowhere/out"],
            "--output nowhere/out cannot be written: there is no folder nowhere; make it, or give another",
        ),
        (
            ["--length-penalty", "gnmt", "A"],
            "--length-penalty has an effect only on beam search; give --beam 2 or more, or leave "
            "--length-penalty out",
        ),
        (["--input", "folder"], "--input folder is not a regular file; give another name"),
        (["--output", "fifo", "A"], "--output fifo is not a regular file; give another name"),
        (
            ["--nbest", "3", "--beam", "2", "A"],
            "--nbest 3 hypotheses are more than --beam 2 finds; give --beam 3 or more, or ask for fewer",
        ),
        (
            ["--nbest", "0", "--beam", "2", "A"],
            "--nbest 0 is not a number of hypotheses; give a whole number from 1 on",
        ),
        (
            ["--temperature", "2", "A"],
            "--temperature has an effect only with --sample; add --sample, or leave --temperature out",
        ),
        (["--seed", "0", "A"], "--seed has an effect only with --sample; add --sample, or leave --seed out"),
        (["--sample", "--beam", "1", "A"], f"--beam {OF_SEARCH}"),
        (["--sample", "--nbest", "1", "A"], f"--nbest {OF_SEARCH}"),
        (["--sample", "--alpha", "0", "A"], f"--alpha {OF_SEARCH}"),
        (["--sample", "--length-penalty", "plain", "A"], f"--length-penalty {OF_SEARCH}"),
        (
            ["--sample", "--seed", str(2**32), "A"],
            f"--seed {2**32}, of which PyTorch's generator would use the last 32 bits, 0; give 0 to "
            "4294967295",
        ),
        (
            ["--sample", "--temperature", "0", "A"],
            "--temperature 0.0 is not a temperature, which is a positive number; as tau → 0, sampling "
            "becomes greedy search, which needs no temperature",
        ),
        (
            ["--sample", "--top-k", "0", "A"],
            "--top-k 0 keeps no token; for top-k, give a positive whole number",
        ),
        (
            ["--sample", "--top-p", "2", "A"],
            "--top-p 2.0 is not in (0, 1], as top-p needs it; 1 keeps every token",
        ),
    ],
)
def test_message_options_that_do_not_fit(lines, arguments, sentence, capsys, monkeypatch):
    monkeypatch.chdir(lines.parent)
    Path("folder").mkdir()
    os.mkfifo("fifo")
    Path("link").symlink_to("in")
    assert command_line.main(["translate", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.removeprefix(DEVICE)) == ("", f"error: {sentence}\n")
    assert lines.read_text() == "Two dogs.\n\nA child\n"


def test_law_nbest_prints_log_probability_and_text(folder: Path, say: Callable[..., str]):
    where = ["--model", str(folder), "--beam", "3", "--length-penalty", "plain"]
    texts = ["Two dogs.", "", "A child"]
    best = say(*where, *texts).splitlines()
    out = say(*where, "--nbest", "2", *texts).splitlines()
    assert len(out) == 6
    assert out[2:4] == ["", ""]
    found = Translator.from_folder(folder).nbest(["Two dogs."], 2, beam_size=3, length_penalty=PlainLength())
    assert out[:2] == [f"{one.penalized_log_prob:.4f}\t{one.text}" for one in found[0]]
    assert [line.split("\t")[-1] for line in out[::2]] == best


class Terminal(io.TextIOWrapper):
    """A stream that reports to be a terminal."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        return self.buffer.getvalue().decode()


def test_law_in_a_terminal_each_sentence_is_translated_at_once(capsys, monkeypatch, tmp_path: Path):
    assert command_line.main(["translate", "Two dogs.", "A child"]) == 0
    two, child = capsys.readouterr().out.splitlines()
    typed = b"Two dogs.\n\n" + b"A" * 50 + b"\nZw\xf6lf\nA child"
    for to in ([], ["--output", str(tmp_path / "out")]):
        monkeypatch.setattr(sys, "stdin", Terminal(typed))
        assert command_line.main(["translate", *to]) == 0
        out, err = capsys.readouterr()
        assert ((tmp_path / "out").read_text() if to else out) == f"{two}\n{child}\n"
        assert err.count(PROMPT) == 6
        asked = "Type a sentence and press Enter to translate it. Ctrl-D ends."
        assert err.startswith(f"{DEVICE}{asked}\n{PROMPT}")
        assert "the text ('AAAA" in err
        assert "the text is not UTF-8 (byte 3 is 0xf6)" in err
        assert err.endswith(f"{PROMPT}\n")


def test_law_a_progress_bar_never_shares_the_terminal_with_translations(lines: Path, capsys, monkeypatch):
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
        assert shown or written == DEVICE


def test_law_the_model_is_on_the_given_device(capsys, monkeypatch):
    asked, found = [], []

    def take(name: str | None) -> torch.device:
        asked.append(name)
        return torch.device("meta")  # exists on every machine

    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        found.append(next(self.model.parameters()).device)
        return texts

    monkeypatch.setattr(shared, "take_device", take)
    monkeypatch.setattr(Translator, "translate", translate)
    for device in ([], ["--device", "cuda"]):
        assert command_line.main(["translate", "A child", *device]) == 0
        assert capsys.readouterr() == ("A child\n", "Translating on meta.\n")
    assert asked == [None, "cuda"]
    assert found == [torch.device("meta")] * 2


def test_law_a_text_is_translated_sentence_by_sentence(say: Callable[..., str], capsys, monkeypatch):
    two, man = say("Two dogs.", "Dr. A man is sleeping.").splitlines()
    long = "Two dogs.  Dr. A man is sleeping. Two dogs."
    assert say(long, "", "Two dogs.") == f"{two} {man} {two}\n\n{two}\n"
    monkeypatch.setattr(sys, "stdin", Terminal(long.encode()))
    assert command_line.main(["translate"]) == 0
    assert capsys.readouterr().out == f"{two} {man} {two}\n"
    short = "Two dogs. A child"
    whole = say("--no-split", short)
    assert whole == f"{Translator.from_pretrained().translate([short])[0]}\n"
    assert say(short) != whole
    best = Translator.from_pretrained().translate([short], beam_size=2)
    assert say("--beam", "2", "--nbest", "1", short).split("\t")[1] == f"{best[0]}\n"


def test_law_each_sentence_has_the_code_of_the_target_language(tmp_path: Path, capsys, monkeypatch):
    def translate(translator: Translator, texts: list[str], **options: object) -> list[str]:
        assert translator.encode(texts).ids == [[code, *ids] for ids in plain]
        return ["one.", "two."]

    monkeypatch.setattr(Translator, "translate", translate)
    code, bare = VOCABULARY.index(">>deu<<"), SentencePieceTokenizer(VOCABULARY, side(), side())
    for tokenizer in (bare, bare.cleaning()):
        plain = tokenizer.encode_source(["The dog sleeps.", "The cat runs."])
        checkpoint.save(tmp_path, Transformer(replace(TINY, vocab_size=tokenizer.vocab_size)), tokenizer)
        command = ["translate", "--model", str(tmp_path)]
        for between in ("", ">>deu<<"):
            text = f" >>deu<< The dog sleeps. {between} The cat runs."
            assert command_line.main([*command, text, ">>deu<<"]) == 0
            assert capsys.readouterr().out == "one. two.\n\n"
        assert command_line.main([*command, ">>deu<< the", ">>xyz<< the"]) == 2
        sentence = (
            "argument 2 begins with >>xyz<<, which is no code of this model; give another, such as >>deu<<"
        )
        assert capsys.readouterr().err.startswith(f"error: {sentence}; ")


@pytest.mark.parametrize(
    ("options", "language"),
    [
        ([], "en"),
        (["--pretrained", "de-en"], "de"),
        (["--model", "folder", "--source", "fr"], "fr"),
        (["--pretrained", "de-en", "--source", "de"], "de"),
        (["--model", "folder"], "en"),  # it stores no languages
    ],
)
def test_law_sentences_are_split_by_the_rules_of_the_source_language(options, language, folder, monkeypatch):
    asked = []

    def split(text: str, language: str) -> list[str]:
        asked.append(language)
        return [text]

    monkeypatch.setattr(module, "split_sentences", split)
    monkeypatch.setattr(checkpoint, "PRETRAINED", WEIGHTS)  # of whose models the names count
    parts = checkpoint.load(folder)
    monkeypatch.setattr(
        Translator,
        "from_pretrained",
        lambda name, **_: Translator(*parts, languages=tuple(name.split("-"))),
    )
    given = [str(folder) if option == "folder" else option for option in options]
    assert command_line.main(["translate", *given, "Two dogs."]) == 0
    assert asked == [language]
