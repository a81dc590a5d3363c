"""What `translate` and `evaluate` promise on the command line: the search asked for, a line for a line."""

import dataclasses
import sys
from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer import checkpoint
from annotated_transformer.config import TINY
from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer

TEXTS = ["A man is sleeping in the park.", "Two dogs.", "A child"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    tokenizer = Tokenizer.train(TEXTS, vocab_size=271)
    torch.manual_seed(0)
    shape = {"num_layers": 1, "d_model": 20, "max_length": 13, "vocab_size": tokenizer.vocab_size}
    model = Transformer(dataclasses.replace(TINY, **shape))
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                module.weight *= 4
    checkpoint.save(path, model, tokenizer)
    return path


@pytest.mark.parametrize(
    ("options", "search"),
    [
        ([], {}),
        (["--beam", "3"], {"beam_size": 3, "length_penalty": GnmtLength(0.6)}),
        (["--beam", "3", "--alpha", "0"], {"beam_size": 3, "length_penalty": GnmtLength(0.0)}),
        (["--beam", "5", "--length-penalty", "plain"], {"beam_size": 5, "length_penalty": PlainLength(1.0)}),
    ],
)
def test_law_both_commands_search_as_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str], search: dict
):
    asked = []

    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        asked.append(search)
        return texts

    monkeypatch.setattr(Translator, "translate", translate)
    for language in ("en", "de"):
        (tmp_path / f"test.{language}").write_text("A dog.\n", encoding="utf-8")
    where = ["--model", str(folder), *options]
    assert command_line.main(["translate", *where, "A dog."]) == 0
    assert command_line.main(["evaluate", *where, "--data", str(tmp_path), "--split", "test"]) == 0
    assert asked == [{"beam_size": 1, "length_penalty": GnmtLength()} | search] * 2


def test_law_a_line_for_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "stdin").write_bytes("<b>a</b>\nA\x0bB\x1b[2J\u2028C\nTwo".encode())
    with (tmp_path / "stdin").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(Translator, "translate", lambda self, texts, **search: texts)
        assert command_line.main(["translate", "--model", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == ["<b>a</b>", "A\\x0bB\\x1b[2J\\u2028C", "Two"]


@pytest.mark.message
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--beam", "0", "A"], "beam_size=0 keeps no hypothesis"),
        (["--beam", "2", "--alpha", "-1", "A"], "alpha=-1.0 would reward short targets; give 0"),
        (["A" * 30], "has 31 tokens with its EOS, and this model has positions for 13; split it"),
        (["A", " "], "text 1 of 2 is empty (' '); leave it out"),
    ],
)
def test_message_a_mistake_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
):
    assert command_line.main(["translate", "--model", str(folder), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1
