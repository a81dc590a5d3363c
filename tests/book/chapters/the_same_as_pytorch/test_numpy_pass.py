"""The pass in NumPy computes what the package does."""

import numpy as np
import pytest
import torch

from annotated_transformer.book.chapters.the_same_as_pytorch import numpy_pass
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding import greedy_search
from annotated_transformer.model.transformer import Transformer


@pytest.fixture(scope="module")
def model() -> Transformer:
    """Return a model in float64, whose table of positions is not rounded to float32."""
    torch.manual_seed(0)
    config = TransformerConfig(vocab_size=19, max_length=61, num_layers=2, d_model=12, d_ff=17, num_heads=3)
    found = Transformer(config).double().eval()
    for name, parameter in found.named_parameters():
        if "norm" in name or "bias" in name:
            parameter.data += torch.randn_like(parameter) / 5
    weight = {"embedding.weight": np.zeros((1, 12))}
    found.positions.get_buffer("table").copy_(torch.tensor(numpy_pass.embed([0] * 61, weight)))
    return found


def weights(model: Transformer) -> numpy_pass.Weights:
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def test_oracle_logits_are_the_packages(model):
    src, tgt = [5, 7, 3, 11, 2], [1, 4, 9]
    found = numpy_pass.numpy_logits(src, tgt, weights(model), 2, 3)
    wanted = model(torch.tensor([src]), torch.tensor([tgt]))[0]
    torch.testing.assert_close(torch.tensor(found), wanted.detach(), rtol=1e-11, atol=1e-11)


def test_oracle_greedy_search_writes_the_same(model):
    src = [5, 7, 2]
    found = numpy_pass.greedy(src, weights(model), 2, 3, limit=20)
    wanted = greedy_search(model, torch.tensor([src]))[0].tolist()
    assert len(found) > 1
    assert found[:19] == wanted[: len(found)][:19]
