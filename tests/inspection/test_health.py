"""Health metrics: the means, and an unchanged model."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.inspection.health import Health
from annotated_transformer.inspection.observation import watching
from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, make_batches, pad
from annotated_transformer.training.loss import mean_loss


def watched(model: Transformer, batches: list[Batch]) -> Health:
    with Health(model) as health:
        mean_loss(model, batches)
    return health


def sentences(*lengths: tuple[int, int]) -> list[tuple[list[int], list[int]]]:
    """Return random pairs with the given numbers of source and target tokens."""
    rng = torch.Generator().manual_seed(0)
    draw = [[torch.randint(4, 17, (n,), generator=rng).tolist() for n in pair] for pair in lengths]
    return [([*src[1:], 2], [1, *tgt[1:], 2]) for src, tgt in draw]


def test_oracle_health_metrics_match_one_sentence_at_a_time(make_model):
    model = make_model(num_layers=2).double()
    pairs = sentences((7, 3), (5, 11), (2, 5), (1, 2))
    cosines, entropies = [], []
    for src, tgt in pairs:  # one at a time, so without padding
        memory = model.eval().encode(torch.tensor([src]))[0]
        for i in range(len(src)):
            for j in set(range(len(src))) - {i}:
                cosines.append(F.cosine_similarity(memory[i], memory[j], dim=0).item())
        with watching(layer.cross_attention.attention for layer in model.decoder.layers) as weights:
            model(torch.tensor([src]), torch.tensor([tgt[:-1]]))
        for (of_layer,) in weights:
            entropy = torch.distributions.Categorical(of_layer).entropy()  # (heads, tgt_tokens)
            entropies += (entropy.mean(0) / math.log(len(src))).tolist() if len(src) > 1 else []
    sources, targets = zip(*pairs, strict=True)
    health = watched(model, [Batch([0, 1, 2, 3], pad(list(sources)), pad(list(targets)))])
    assert health.encoder_cosine == pytest.approx(sum(cosines) / len(cosines), abs=1e-6)
    assert health.cross_attention_entropy == pytest.approx(sum(entropies) / len(entropies), abs=1e-6)
    assert 0 < health.cross_attention_entropy < 0.9999


def test_law_any_attention_can_be_observed(make_model):
    batches = make_batches(sentences((7, 3), (5, 11)), batch_tokens=101)
    ours, fused = (watched(make_model(attention=a), batches) for a in ("scaled_dot_product", "fused"))
    assert ours.cross_attention_entropy == pytest.approx(fused.cross_attention_entropy, abs=1e-6)


class Halved(nn.Module):
    """An attention with the inputs of ours and weights that are not those of equation 1."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return ScaledDotProductAttention()(query, key, value, mask) / 2


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("change", ["other weights", "other heads"])
def test_law_an_attention_of_other_code_is_not_observed(make_model, change: str):
    model, batches = make_model(), make_batches(sentences((7, 3), (5, 11)), batch_tokens=101)
    cross = model.decoder.layers[0].cross_attention
    if change == "other weights":
        cross.attention = Halved()
    else:
        attend = cross.attention
        cross.attend = lambda q, k, v, mask: cross.to_output(
            attend(q, k[:, :1], v[:, :1], mask).transpose(1, 2).flatten(2)
        )
    health = watched(model, batches)
    assert math.isnan(health.cross_attention_entropy)
    assert 0 < health.encoder_cosine < 1


def test_law_observing_does_not_change_the_loss_and_removes_its_hooks(make_model):
    model, batches = make_model(), make_batches(sentences((7, 3), (5, 11)), batch_tokens=101)
    before, health = mean_loss(model, batches), Health(model)
    assert math.isnan(health.encoder_cosine)
    with health:
        assert mean_loss(model, batches) == before
    seen = health.encoder_cosine
    mean_loss(model, make_batches(sentences((3, 3)), batch_tokens=101))
    assert health.encoder_cosine == seen
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
