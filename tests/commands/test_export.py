"""The commands `export` and `import`: there and back, with the model card."""

from pathlib import Path

import pytest

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from annotated_transformer.commands import export
from tests.checkpointing.small_models import same


def test_law_a_model_is_exported_and_imported_again_with_its_card(tmp_path: Path, run):
    out, back = tmp_path / "new" / "marian", tmp_path / "back"
    exported = run("export", "--to", "marian", "--pretrained", "en-de", "--out", out)
    assert exported == (f"en-de is in {out}, for Hugging Face's transformers\n", "")
    imported, _ = run("import", "--from", "marian", out, "--out", back)
    model, tokenizer = checkpoint.load(back)
    ours, its_tokenizer = checkpoint.load(pretrained_folder("en-de"))
    count = sum(parameter.numel() for parameter in ours.parameters())
    assert imported == f"{out} is in {back}, {count:,} parameters; give --model {back}\n"
    assert same(model, ours)
    assert tokenizer.to_json() == its_tokenizer.to_json()
    assert checkpoint.read_languages(back) == ("en", "de")
    card = (pretrained_folder("en-de") / "README.md").read_text("utf-8")
    note = "This copy was converted to another format by `annotated-transformer {}`."
    parts = [card.rstrip(), note.format("export --to marian"), note.format("import --from marian")]
    assert (back / "README.md").read_text("utf-8") == "\n\n".join(parts) + "\n"


@pytest.mark.message
def test_message_an_export_that_needs_a_library(folder: Path, tmp_path: Path, run, monkeypatch):
    def writer(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("writing needs a library; run pip")

    monkeypatch.setattr(export, "converter", lambda direction, name: writer)
    _, err = run("export", "--to", "marian", "--model", folder, "--out", tmp_path / "out", status=2)
    assert err == "error: writing needs a library; run pip\n"
    assert not (tmp_path / "out").exists()
