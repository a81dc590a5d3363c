"""Epoch checkpoints: the last epochs' models and no others, regardless of earlier runs in the folder."""

from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing.averaging import average
from annotated_transformer.checkpointing.epoch_checkpoints import epoch_checkpoints, save_epoch
from annotated_transformer.text.tokenizer import Tokenizer


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["one text", "one text"], vocab_size=263)


def test_law_the_last_epochs_are_kept_and_no_others(make_model, tmp_path: Path, tokenizer: Tokenizer):
    model = make_model(vocab_size=tokenizer.vocab_size)
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


def test_law_a_folder_without_training_has_no_epoch_checkpoints(tmp_path: Path):
    assert epoch_checkpoints(tmp_path) == []


@pytest.mark.message
def test_message_keep_at_least_one(make_model, tmp_path: Path, tokenizer: Tokenizer):
    with pytest.raises(ValueError, match="keep=0 would delete the checkpoint just saved; keep 1 or more"):
        save_epoch(tmp_path, 1, make_model(vocab_size=263), tokenizer, keep=0)
