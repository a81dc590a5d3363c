"""The command `export`: a folder for another library, with the model card, and error messages."""

from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from annotated_transformer.interop.formats import FORMATS, Format
from annotated_transformer.interop.marian import from_marian
from tests.checkpointing.small_models import make_model, make_tokenizer, same

MARIAN = ["export", "--to", "marian"]
FILES = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]
FILES += ["tokenizer_config.json"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_law_a_model_of_the_package_is_exported_with_its_card(tmp_path: Path, capsys):
    out = tmp_path / "new" / "marian"
    assert command_line.main([*MARIAN, "--pretrained", "en-de", "--out", str(out)]) == 0
    assert capsys.readouterr() == (f"en-de is in {out}, for Hugging Face's transformers\n", "")
    model, tokenizer, languages = from_marian(out)
    ours, its_tokenizer = checkpoint.load(pretrained_folder("en-de"))
    assert same(model, ours)
    assert tokenizer.to_json() == its_tokenizer.to_json()
    assert languages == ("en", "de")
    card, copied = ((folder / "README.md").read_text("utf-8") for folder in (pretrained_folder("en-de"), out))
    note = "This copy was converted to another format by `annotated-transformer export --to marian`.\n"
    assert copied == f"{card.rstrip()}\n\n{note}"
    assert "CC BY 2.0" in copied
    assert names(out) == ["README.md", *FILES]


def test_law_an_own_model_is_exported_in_half_precision(tmp_path: Path):
    checkpoint.save(tmp_path / "own", make_model(), make_tokenizer())
    (tmp_path / "out").mkdir()  # empty
    folders = ["--model", str(tmp_path / "own"), "--out", str(tmp_path / "out")]
    assert command_line.main([*MARIAN, *folders, "--dtype", "float16"]) == 0
    assert same(from_marian(tmp_path / "out")[0], make_model().half())
    assert names(tmp_path / "out") == FILES  # there was no card


@pytest.mark.message
def test_message_an_export_that_is_not_possible(tmp_path: Path, capsys, monkeypatch):
    def message(*arguments: object) -> str:
        assert command_line.main([*MARIAN, *map(str, arguments)]) == 2
        return capsys.readouterr().err

    own, out = tmp_path / "own", tmp_path / "out"
    checkpoint.save(own, make_model(norm="pre"), make_tokenizer())
    sentence = "error: norm='pre' cannot be carried over: a Marian model of transformers has 'post'\n"
    assert message("--model", own, "--out", out) == sentence
    sentence = f"error: --out {own} already holds config.json; give a new or an empty folder\n"
    assert message("--model", own, "--out", own) == sentence
    (tmp_path / "file").touch()
    sentence = f"error: --out {tmp_path / 'file'} is not a folder; give another\n"
    assert message("--model", own, "--out", tmp_path / "file") == sentence
    assert "error: this package has no model 'en-fr'" in message("--pretrained", "en-fr", "--out", out)
    monkeypatch.setitem(FORMATS, "marian", Format("nobody", "marian", to="to_marian"))
    sentence = "error: --dtype float16 is no type of --to marian; choose from none\n"
    assert message("--pretrained", "en-de", "--out", out, "--dtype", "float16") == sentence
    assert not out.exists()


@pytest.mark.message
def test_message_a_library_that_is_missing(tmp_path: Path, capsys, monkeypatch):
    def writer(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("writing needs a library; run pip")

    monkeypatch.setattr(Format, "writer", lambda self: writer)
    assert command_line.main([*MARIAN, "--pretrained", "en-de", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "error: writing needs a library; run pip\n"


@pytest.mark.message
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--out", "out"], "error: one of the arguments --model --pretrained is required; "),
        (["--pretrained", "en-de", "--model", "own", "--out", "out"], "not allowed with argument"),
    ],
)
def test_message_which_model_is_not_clear(arguments: list[str], sentence: str, capsys):
    with pytest.raises(SystemExit, match="2"):
        command_line.main([*MARIAN, *arguments])
    assert sentence in capsys.readouterr().err
