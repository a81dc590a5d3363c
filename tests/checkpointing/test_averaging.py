"""Averaging models: every weight is the mean, and models of different kinds are rejected."""

from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.averaging import average
from annotated_transformer.model.transformer import Transformer
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
    held = [checkpoint.load(folder)[0] for folder in folders]
    assert mean.config == held[0].config
    assert not mean.training
    assert tokenizer.to_json() == make_tokenizer().to_json()
    assert mean.state_dict().keys() == held[0].state_dict().keys()
    for name, tensor in mean.state_dict().items():
        each = torch.stack([model.state_dict()[name].double() for model in held])
        torch.testing.assert_close(tensor, each.mean(dim=0).to(dtype), rtol=0, atol=0)
    assert not torch.equal(mean.embedding.weight, held[0].embedding.weight)


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
