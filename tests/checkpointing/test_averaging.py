"""Averaging models: every weight is the mean, and models of different kinds are rejected."""

from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.averaging import average
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer
from tests.checkpointing.small_models import make_model, make_tokenizer, same


def same_shape(seed: int, **changes: object) -> Transformer:
    return make_model(seed, positions="learned", **changes)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_law_the_average_of_copies_is_the_copy(tmp_path: Path, dtype: torch.dtype):
    model = same_shape(0).to(dtype)
    checkpoint.save(tmp_path, model, make_tokenizer())
    mean, tokenizer = average([tmp_path] * 7)
    assert mean.config == model.config
    for name, tensor in mean.state_dict().items():
        torch.testing.assert_close(tensor, model.state_dict()[name], rtol=1e-15, atol=0)
        assert tensor.dtype == dtype
    assert tokenizer.to_json() == make_tokenizer().to_json()
    assert not mean.training


def test_law_every_weight_is_the_mean_of_all(tmp_path: Path):
    models = [same_shape(seed) for seed in range(3)]
    for seed, model in enumerate(models):
        checkpoint.save(tmp_path / str(seed), model, make_tokenizer())
    mean = average([tmp_path / str(seed) for seed in range(3)])[0].state_dict()
    assert mean.keys() == models[0].state_dict().keys()
    for name, tensor in mean.items():
        each = torch.stack([model.state_dict()[name].double() for model in models])
        torch.testing.assert_close(tensor, each.mean(dim=0).float(), rtol=0, atol=0)
    weight = models[0].state_dict()["decoder.layers.0.feed_forward.expand.weight"]
    assert not torch.equal(mean["decoder.layers.0.feed_forward.expand.weight"], weight)
    assert same(checkpoint.load(tmp_path / "0")[0], models[0])  # the averaged files are unchanged


def test_law_averaged_linear_models_predict_the_mean(tmp_path: Path):
    x = torch.randn(5, 12, generator=torch.Generator().manual_seed(0))
    said = []
    for seed in range(3):
        checkpoint.save(tmp_path / str(seed), same_shape(seed), make_tokenizer())
        said.append(checkpoint.load(tmp_path / str(seed))[0].decoder.layers[0].feed_forward.expand(x))
    mean, _ = average([tmp_path / str(seed) for seed in range(3)])
    found = mean.decoder.layers[0].feed_forward.expand(x)
    torch.testing.assert_close(found, torch.stack(said).mean(dim=0), rtol=0, atol=1e-5)


def test_law_averaging_half_precision_files_averages_the_stored_values(tmp_path: Path):
    folders = [tmp_path / str(seed) for seed in range(3)]
    for seed, folder in enumerate(folders):
        checkpoint.save(folder, make_model(seed), make_tokenizer(), stored=torch.float16)
    mean = average(folders)[0].state_dict()
    held = [checkpoint.load(folder)[0].state_dict() for folder in folders]
    for name, tensor in mean.items():
        each = torch.stack([state[name].double() for state in held])
        torch.testing.assert_close(tensor, each.mean(dim=0).float(), rtol=0, atol=0)


@pytest.mark.message
def test_message_nothing_to_average():
    with pytest.raises(ValueError, match="there is nothing to average; give at least one model folder"):
        average([])


@pytest.mark.message
@pytest.mark.parametrize(
    ("other", "tokenizer", "difference"),
    [
        (make_model(d_ff=7, dropout=0.2), make_tokenizer(), r"d_ff=7 and not 14, dropout=0.2 and not 0.1"),
        (make_model().double(), make_tokenizer(), r"weights of torch.float64 and not torch.float32"),
        (make_model(), Tokenizer.train(["zwei zwei"], vocab_size=263), "another tokenizer"),
    ],
    ids=["config", "type", "tokenizer"],
)
def test_message_models_that_have_no_average(
    tmp_path: Path, other: Transformer, tokenizer: Tokenizer, difference: str
):
    checkpoint.save(tmp_path / "model", make_model(), make_tokenizer())
    checkpoint.save(tmp_path / "other", other, tokenizer)
    with pytest.raises(
        ValueError, match=rf"other differs from .*model: {difference}; average checkpoints of"
    ):
        average([tmp_path / "model", tmp_path / "other"])
