"""A training run replaces the models that it wrote, and no others."""

import dataclasses
import errno
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.recipe import train_from_recipe
from tests.toy_recipe import SHAPE, corpus, for_steps, own_tokenizer, weights

RECIPE = for_steps(7)
pytestmark = pytest.mark.usefixtures("unchecked")


def foreign(folder: Path) -> dict[str, bytes]:
    """Save a model that no training run wrote, and return the files in the folder."""
    torch.manual_seed(7)
    tokenizer = own_tokenizer()
    shape = dataclasses.replace(SHAPE, vocab_size=tokenizer.vocab_size)
    checkpoint.save(folder, Transformer(shape), tokenizer)
    return lying(folder)


def lying(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "training.lock")
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.message
@pytest.mark.parametrize(
    ("place", "names"),
    [
        (".", checkpoint.FILES),
        (".", ["tokenizer.json"]),
        ("epochs/00001", checkpoint.FILES),
        ("model", checkpoint.FILES),
    ],
    ids=["a model", "a part of a model", "an epoch checkpoint", "a copy of a model"],
)
def test_message_a_model_not_written_by_a_training_run(tmp_path: Path, place: str, names: list[str]):
    foreign(tmp_path / place)
    for name in set(checkpoint.FILES) - set(names):
        (tmp_path / place / name).unlink()
    before = lying(tmp_path)
    message = r"holds a model and no training\.safetensors: no training run here wrote it, .* give another"
    with pytest.raises(ValueError, match=message):
        train_from_recipe(for_steps(2), corpus(), tmp_path, seed=3)
    assert lying(tmp_path) == before


@pytest.mark.message
def test_message_a_model_that_replaced_the_one_of_the_training_run(tmp_path: Path):
    for name, seed in (("own", 3), ("other", 4)):
        train_from_recipe(for_steps(2), corpus(), tmp_path / name, seed=seed)
    foreign(tmp_path / "elsewhere")
    own, other, elsewhere = (
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("own", "other", "elsewhere")
    )
    replaced = r"model\.safetensors is not of the training run whose training\.safetensors .* give another"
    for place, content, message in (
        ("model/model.safetensors", elsewhere, f"model/{replaced}"),
        ("model.safetensors", elsewhere, replaced),
        ("model.safetensors", other, replaced),
        ("model.safetensors", b"", r"model\.safetensors is damaged \(.+\); give another folder, or"),
    ):
        weights = tmp_path / "own" / place
        weights.unlink()
        weights.write_bytes(content)
        before = lying(tmp_path / "own")
        with pytest.raises(ValueError, match=message):
            train_from_recipe(for_steps(3), corpus(), tmp_path / "own", seed=3)
        assert lying(tmp_path / "own") == before
        weights.write_bytes(own)
    train_from_recipe(for_steps(3), corpus(), tmp_path / "own", seed=3)


def test_law_a_run_killed_between_its_first_model_and_its_first_state_resumes(tmp_path: Path, monkeypatch):
    train_from_recipe(RECIPE, corpus(), tmp_path / "whole", seed=3)
    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory, "save", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            train_from_recipe(RECIPE, corpus(), tmp_path / "killed", seed=3)
    before = lying(tmp_path / "killed")
    checkpoint.load(tmp_path / "killed")
    with pytest.raises(ValueError, match="is the state of another training run"):  # even at step 0
        train_from_recipe(RECIPE, corpus(), tmp_path / "killed", seed=4)
    assert lying(tmp_path / "killed") == before
    train_from_recipe(RECIPE, corpus(), tmp_path / "killed", seed=3)
    torch.testing.assert_close(weights(tmp_path / "whole"), weights(tmp_path / "killed"), rtol=0, atol=0)


@pytest.mark.message
def test_message_metrics_without_a_state(tmp_path: Path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 7, "mine": 1}\n')
    message = r"metrics\.jsonl has no training\.safetensors beside it, so this training run would overwrite"
    with pytest.raises(ValueError, match=message):
        train_from_recipe(RECIPE, corpus(), tmp_path, seed=3)
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 7, "mine": 1}\n'


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_law_the_folder_model_holds_the_model_alone(tmp_path: Path, monkeypatch, links: bool):
    if not links:
        refusal = OSError(errno.EPERM, "Operation not permitted")
        monkeypatch.setattr(Path, "hardlink_to", Mock(side_effect=refusal))
    for steps in (2, 4, 4):  # a new run, a longer one, and one with nothing left to train
        train_from_recipe(for_steps(steps), corpus(), tmp_path / "run", seed=3)
        copied = shutil.copytree(
            tmp_path / "run" / "model", tmp_path / "copies" / str(steps), dirs_exist_ok=True
        )
        assert sorted(path.name for path in copied.iterdir()) == sorted(checkpoint.FILES)
        torch.testing.assert_close(weights(copied), weights(tmp_path / "run"), rtol=0, atol=0)
        same_file = (tmp_path / "run/model/config.json").samefile(tmp_path / "run/config.json")
        assert same_file == links
