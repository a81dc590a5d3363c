"""The mean of models, and the epoch checkpoints it is made of: the last epochs' models and no others."""

from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.averaging import average, epoch_checkpoints, save_epoch
from annotated_transformer.text.tokenizer import Tokenizer
from tests.checkpointing.small_models import make_model, make_tokenizer


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [(torch.float32, None), (torch.bfloat16, None), (torch.float32, torch.float16)],
    ids=["float32", "bfloat16", "stored in float16"],
)
def test_law_every_weight_is_the_mean_of_all(tmp_path: Path, dtype: torch.dtype, stored: torch.dtype | None):
    folders = [tmp_path / str(seed) for seed in range(3)]
    for seed, folder in enumerate(folders):
        model = make_model(seed, positions="learned").to(dtype)
        checkpoint.save(folder, model, make_tokenizer(), stored=stored)
    mean, tokenizer = average(folders)
    models = [checkpoint.load(folder)[0] for folder in folders]
    assert mean.config == models[0].config
    assert not mean.training
    assert tokenizer.to_json() == make_tokenizer().to_json()
    assert mean.state_dict().keys() == models[0].state_dict().keys()
    for name, tensor in mean.state_dict().items():
        each = torch.stack([model.state_dict()[name].double() for model in models])
        torch.testing.assert_close(tensor, each.mean(dim=0).to(dtype), rtol=0, atol=0)
    assert not torch.equal(mean.embedding.weight, models[0].embedding.weight)


@pytest.mark.message
@pytest.mark.parametrize(
    ("other", "tokenizer", "difference"),
    [
        (make_model(d_ff=7, dropout=0.2), make_tokenizer(), r"d_ff=7 and not 14, dropout=0.2 and not 0.1"),
        (make_model().double(), make_tokenizer(), r"dtype=torch.float64 and not torch.float32"),
        (make_model(), Tokenizer.train(["zwei zwei"], vocab_size=263), r"tokenizer=\w+ and not \w+"),
    ],
    ids=["config", "type", "tokenizer"],
)
def test_message_models_that_have_no_average(tmp_path, other, tokenizer, difference):
    checkpoint.save(tmp_path / "model", make_model(), make_tokenizer())
    checkpoint.save(tmp_path / "other", other, tokenizer)
    with pytest.raises(ValueError, match=rf"other differs from .*model: {difference}; average checkpoints"):
        average([tmp_path / "model", tmp_path / "other"])


def test_law_the_last_epochs_are_kept_and_no_others(tmp_path: Path):
    model, tokenizer = make_model(), make_tokenizer()
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


def test_law_folders_that_are_not_checkpoints_are_left_alone(tmp_path: Path):
    model, tokenizer = make_model(), make_tokenizer()
    foreign = [tmp_path / "epochs" / name for name in ("2024/config.json", "²/config.json", "00001/mine")]
    for file in foreign:
        file.parent.mkdir(parents=True)
        file.write_text("mine")
    for epoch, keep in ((1, 1), (2, 1), (99_999, 1), (100_000, 2)):
        save_epoch(tmp_path, epoch, model, tokenizer, keep=keep)
    assert [path.name for path in epoch_checkpoints(tmp_path)] == ["99999", "100000"]  # by their numbers
    assert [path.name for path in (tmp_path / "epochs" / "00001").iterdir()] == ["mine"]
    assert [file.read_text() for file in foreign] == 3 * ["mine"]


@pytest.mark.message
def test_message_nothing_to_average():
    with pytest.raises(ValueError, match="there is nothing to average; give at least one model folder"):
        average([])
