"""Epoch checkpoints: the last epochs' models and no others, regardless of earlier runs in the folder."""

from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing.averaging import average, epoch_checkpoints, save_epoch
from annotated_transformer.text.tokenizer import Tokenizer


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["one text", "one text"], vocab_size=263)


def test_law_the_last_epochs_are_kept_and_no_others(make_model, tmp_path: Path, tokenizer: Tokenizer):
    model = make_model(vocab_size=tokenizer.vocab_size)
    assert epoch_checkpoints(tmp_path) == []
    for epoch in (7, 8):  # from an earlier run in this folder
        save_epoch(tmp_path, epoch, model, tokenizer, keep=3)
    (tmp_path / "epochs" / "notes").mkdir()
    for epoch in (1, 2, 3, 4, 5, 5, 6):  # the fifth twice, as after a kill
        with torch.no_grad():
            model.embedding.weight.fill_(epoch)
        save_epoch(tmp_path, epoch, model, tokenizer, keep=3)
    assert [path.name for path in epoch_checkpoints(tmp_path)] == ["00004", "00005", "00006"]
    mean, _ = average(epoch_checkpoints(tmp_path))
    assert (mean.embedding.weight == 5).all()
    assert (tmp_path / "epochs" / "notes").is_dir()


def test_law_folders_that_are_not_checkpoints_are_left_alone(
    make_model, tmp_path: Path, tokenizer: Tokenizer
):
    model = make_model(vocab_size=tokenizer.vocab_size)
    names = ("2024/config.json", "²/config.json", "00007/mine", "00001/mine")
    foreign = [tmp_path / "epochs" / name for name in names]
    for file in foreign:
        file.parent.mkdir(parents=True)
        file.write_text("mine")
    for epoch in (1, 2):
        save_epoch(tmp_path, epoch, model, tokenizer, keep=1)
    assert [path.name for path in epoch_checkpoints(tmp_path)] == ["00002"]
    assert [path.name for path in (tmp_path / "epochs" / "00001").iterdir()] == ["mine"]
    assert [file.read_text() for file in foreign] == 4 * ["mine"]


def test_law_epochs_are_in_the_order_of_their_numbers(make_model, tmp_path: Path, tokenizer: Tokenizer):
    model = make_model(vocab_size=tokenizer.vocab_size)
    for epoch in (99_999, 100_000):
        save_epoch(tmp_path, epoch, model, tokenizer, keep=2)
    assert [path.name for path in epoch_checkpoints(tmp_path)] == ["99999", "100000"]


@pytest.mark.message
def test_message_a_file_in_place_of_the_epochs(tmp_path: Path):
    (tmp_path / "epochs").write_text("mine")
    with pytest.raises(ValueError, match="epochs is not a folder; move it away, or give another folder"):
        epoch_checkpoints(tmp_path)


@pytest.mark.message
def test_message_keep_at_least_one(make_model, tmp_path: Path, tokenizer: Tokenizer):
    with pytest.raises(ValueError, match="keep=0 would delete the checkpoint just saved; keep 1 or more"):
        save_epoch(tmp_path, 1, make_model(vocab_size=263), tokenizer, keep=0)
