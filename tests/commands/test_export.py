"""The commands `export` and `import`: there and back, with the model card."""

from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from annotated_transformer.commands import export
from tests.checkpointing.small_models import make_model, make_tokenizer, same

TO_MARIAN = ["export", "--to", "marian"]


def test_law_a_model_is_exported_and_imported_again_with_its_card(tmp_path: Path, capsys):
    out, back = tmp_path / "new" / "marian", tmp_path / "back"
    assert command_line.main([*TO_MARIAN, "--pretrained", "en-de", "--out", str(out)]) == 0
    assert capsys.readouterr() == (f"en-de is in {out}, for Hugging Face's transformers\n", "")
    assert command_line.main(["import", "--from", "marian", str(out), "--out", str(back)]) == 0
    model, tokenizer = checkpoint.load(back)
    ours, its_tokenizer = checkpoint.load(pretrained_folder("en-de"))
    count = sum(parameter.numel() for parameter in ours.parameters())
    assert capsys.readouterr().out == f"{out} is in {back}, {count:,} parameters; give --model {back}\n"
    assert same(model, ours)
    assert tokenizer.to_json() == its_tokenizer.to_json()
    assert checkpoint.read_languages(back) == ("en", "de")
    card, copied = (
        (folder / "README.md").read_text("utf-8") for folder in (pretrained_folder("en-de"), back)
    )
    note = "\n\nThis copy was converted to another format by `annotated-transformer {}`.\n"
    noted = (
        f"{card.rstrip()}{note.format('export --to marian').rstrip()}{note.format('import --from marian')}"
    )
    assert copied == noted


@pytest.mark.message
def test_message_an_export_that_is_not_possible(tmp_path: Path, capsys, monkeypatch):
    checkpoint.save(tmp_path / "own", make_model(norm="pre"), make_tokenizer())
    command = [*TO_MARIAN, "--model", str(tmp_path / "own"), "--out", str(tmp_path / "out")]
    assert command_line.main(command) == 2
    sentence = "error: norm='pre' cannot be carried over: a Marian model of transformers has 'post'\n"
    assert capsys.readouterr().err == sentence

    def writer(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("writing needs a library; run pip")

    monkeypatch.setattr(export, "converter", lambda direction, name: writer)
    assert command_line.main(command) == 2
    assert capsys.readouterr().err == "error: writing needs a library; run pip\n"
    assert not (tmp_path / "out").exists()
