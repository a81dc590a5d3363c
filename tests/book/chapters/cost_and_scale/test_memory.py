"""The prediction of what a training step keeps agrees with what PyTorch keeps."""

import pytest
import torch

from annotated_transformer.book.chapters.cost_and_scale.memory import measure_kept, predict_kept
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import make_batches


def shape_of(**changes: float | int) -> TransformerConfig:
    sizes = {"vocab_size": 101, "num_layers": 2, "d_model": 42, "d_ff": 65, "num_heads": 3, "max_length": 40}
    return TransformerConfig(**{**sizes, "dropout": 0.0, **changes})


@pytest.mark.parametrize("changes", [{}, {"dropout": 0.1}, {"num_heads": 7, "num_layers": 3}])
@pytest.mark.parametrize(("src", "tgt"), [(37, 11), (13, 31)])
def test_oracle_each_part_keeps_what_is_predicted_but_for_masks(
    changes: dict[str, float | int], src: int, tgt: int
):
    shape, rng = shape_of(**changes), torch.Generator().manual_seed(0)
    draw = lambda count: torch.randint(3, 101, (count,), generator=rng).tolist()  # noqa: E731
    pairs = [([*draw(src - 1), 2], [1, *draw(tgt - 1), 2]) for _ in range(5)]
    (batch,) = make_batches(pairs, batch_tokens=10**6)
    predicted = predict_kept(shape, sentences=5, src=src, tgt=tgt)
    measured = measure_kept(Transformer(shape), batch)
    assert list(predicted) == list(measured)
    for part, size in predicted.items():
        assert 0.96 <= size / measured[part] <= 1


@pytest.mark.equation("eq-kept")
def test_law_an_encoder_layer_keeps_what_the_equation_says():
    shape, n = shape_of(num_layers=1), 29
    kept = predict_kept(shape, sentences=1, src=n, tgt=1)["encoder"]
    assert kept == 4 * (n * (10 * 42 + 65 + 2) + 2 * 3 * n**2)
