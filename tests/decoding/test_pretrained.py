"""The packaged models, and the error message about unknown ones."""

import re
from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import load, pretrained_folder
from annotated_transformer.decoding.translator import Translator


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(checkpoint, "PRETRAINED", tmp_path / "weights")
    return tmp_path / "weights"


def test_law_a_model_is_a_folder_in_the_package(place: Path, root: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("en-de", "de-en"):
        (place / name).mkdir(parents=True)
        assert pretrained_folder(name) == place / name
    monkeypatch.undo()
    assert checkpoint.PRETRAINED == root / "annotated_transformer" / "weights"


@pytest.mark.parametrize("name", ["en-de", "de-en"])
def test_law_the_model_is_that_of_the_name(root: Path, name: str):
    found, wanted = Translator.from_pretrained(name), load(root / "annotated_transformer" / "weights" / name)
    assert torch.equal(found.model.embedding.weight, wanted[0].embedding.weight)
    assert found.tokenizer.to_json() == wanted[1].to_json()


@pytest.mark.message
@pytest.mark.parametrize("name", ["en-fr", "", "..", "README.md"])
def test_message_an_unknown_model(place: Path, name: str):
    for there in ("en-de", "de-en"):
        (place / there).mkdir(parents=True)
    (place / "README.md").touch()
    expected = f"this package has no model {name!r} (it has de-en, en-de); choose one of these, or give"
    with pytest.raises(ValueError, match=re.escape(expected)):
        Translator.from_pretrained(name)
