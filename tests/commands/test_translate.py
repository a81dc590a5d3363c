"""What `translate` promises: a line for a line, whatever the text, or one sentence on what is wrong."""

import sys
import unicodedata
from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.decoding.translator import Translator


def feed(data: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make `data` the standard input."""
    (tmp_path / "stdin").write_bytes(data)
    monkeypatch.setattr(sys, "stdin", (tmp_path / "stdin").open(encoding="utf-8"))


def test_law_a_line_for_a_line(
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
def test_law_any_text_gives_one_harmless_line(text: str, capsys: pytest.CaptureFixture[str]):
    assert command_line.main(["translate", "Two dogs."]) == 0
    alone = capsys.readouterr().out
    assert command_line.main(["translate", text, "Two dogs."]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 2
    assert out.endswith(f"\n{alone}")  # its neighbour does not suffer
    assert {c for c in out if unicodedata.category(c) == "Cc"} == {"\n"}


@pytest.mark.usefixtures("pretrained")
def test_law_what_cleaning_makes_alike_is_translated_alike(capsys: pytest.CaptureFixture[str]):
    assert command_line.main(["translate", 'Two "dogs".', " Two\u00a0\u200b “dogs”.\n", "Two dogs."]) == 0
    plain, curly, other = capsys.readouterr().out.splitlines()
    assert plain == curly
    assert plain != other


@pytest.mark.message
@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--beam", "0", "A"], "beam_size=0 keeps no hypothesis"),
        (["--beam", "2", "--alpha", "-1", "A"], "alpha=-1.0 would reward short targets; give 0"),
        (["A" * 50], "has 51 tokens with its EOS, and this model has positions for 37; split it"),
        (["dog " * 10_000], "has 40001 tokens with its EOS, and this model has positions for 37"),
        (["A", " "], "text 1 of 2 is empty (' '); leave it out"),
        (["", "A"], "text 0 of 2 is empty (''); leave it out"),
        (["\u200b\u00a0\ufeff"], r"text 0 of 1 is empty ('\u200b\xa0\ufeff'); leave it out"),
        (["a\udcff"], "text 0 of 1 is no Unicode: it holds half of a surrogate pair"),
        (["--pretrained", "en-fr", "A"], "this package has no model 'en-fr' (it has en-de); name one"),
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
        (b"\n", "nothing to translate; give a text, such as"),
        (b"One\n\nThree\n", "text 1 of 3 is empty (''); leave it out"),
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
