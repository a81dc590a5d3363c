"""The command `import`: a model folder of ours, with the model card, and error messages."""

import sys
from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.interop.marian import to_marian
from tests.checkpointing.small_models import make_model, make_tokenizer, same

MARIAN = ["import", "--from", "marian"]


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    folder = tmp_path / "marian"
    to_marian(make_model(), make_tokenizer(), folder, languages=("en", "fr"))
    (folder / "README.md").write_text("License: CC BY 4.0\n")
    return folder


def test_law_a_model_is_imported_with_its_card_and_translates(exported: Path, tmp_path: Path, capsys):
    out = tmp_path / "ours"
    assert command_line.main([*MARIAN, str(exported), "--out", str(out)]) == 0
    count = sum(parameter.numel() for parameter in make_model().parameters())
    assert capsys.readouterr().out == f"{exported} is in {out}, {count:,} parameters; give --model {out}\n"
    model, tokenizer = checkpoint.load(out)
    assert same(model, make_model())
    assert tokenizer.to_json() == make_tokenizer().to_json()
    assert checkpoint.read_languages(out) == ("en", "fr")
    note = "This copy was converted to another format by `annotated-transformer import --from marian`."
    assert (out / "README.md").read_text() == f"License: CC BY 4.0\n\n{note}\n"
    assert command_line.main(["translate", "--model", str(out), "A man"]) == 0


@pytest.mark.message
def test_message_an_import_that_is_not_possible(exported: Path, tmp_path: Path, capsys, monkeypatch):
    def message(path: Path, out: Path) -> str:
        assert command_line.main([*MARIAN, str(path), "--out", str(out)]) == 2
        return capsys.readouterr().err

    out = tmp_path / "ours"
    sentence = f"error: there is no {tmp_path / 'no' / 'config.json'}; give the folder of a Marian model\n"
    assert message(tmp_path / "no", out) == sentence
    sentence = f"error: --out {exported} already holds README.md; give a new or an empty folder\n"
    assert message(exported, exported) == sentence
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert message(exported, out) == (
        "error: importing a Marian model needs transformers, which is not installed; run pip install "
        "'.[interop]' in the folder of this book\n"
    )
    assert not out.exists()
