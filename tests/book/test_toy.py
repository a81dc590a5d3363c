"""Toy models are trained as by PyTorch's Adam, probes are judged on held-out samples, and tasks are right."""

import pytest
import torch
from torch import nn

from annotated_transformer.book.toy.fitting import fit
from annotated_transformer.book.toy.probe import probe_accuracy
from annotated_transformer.book.toy.tasks import copy_pairs, reverse_pairs
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID


class Weight(nn.Module):
    """A single weight, which starts at 0."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros((), dtype=torch.float64))


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.8, 0.5)])
def test_oracle_training_is_pytorchs_adam(betas: tuple[float, float]):
    """The gradients and the rates differ from step to step, so what is not cleared or not used would show."""
    factors, rates, model, other = [3.0, -1.0, 0.5, 2.0], [0.1, 0.3, 0.2, 0.4], Weight(), Weight()
    draws, adam = iter(factors), torch.optim.Adam(other.parameters(), betas=betas)
    losses = fit(
        model, lambda: (model.weight - next(draws)).square(), steps=4, lr=rates.__getitem__, betas=betas
    )
    theirs = []
    for factor, adam.param_groups[0]["lr"] in zip(factors, rates, strict=True):
        loss = (other.weight - factor).square()
        theirs.append(loss.item())
        (other.weight.grad,) = torch.autograd.grad(loss, other.weight)
        adam.step()
    assert model.weight.item() == pytest.approx(other.weight.item(), rel=1e-9)
    assert losses == pytest.approx(theirs, rel=1e-6)


def test_law_a_probe_is_judged_on_held_out_samples_only():
    rng = torch.Generator().manual_seed(0)
    vectors = torch.randn(40, 60, generator=rng, dtype=torch.float64)  # wide enough to memorize the samples
    labels, held_out = torch.randint(2, (40,), generator=rng), torch.arange(40) >= 20
    assert probe_accuracy(vectors, labels, held_out) < 0.9
    again = torch.cat([vectors[:20], vectors[:20]]), torch.cat([labels[:20], labels[:20]])
    assert probe_accuracy(*again, held_out) == 1


def test_law_the_target_is_the_source_or_its_reverse():
    sizes = {"symbols": 11, "lengths": range(2, 8)}
    same, reverse = (
        task(97, **sizes, generator=torch.Generator().manual_seed(0)) for task in (copy_pairs, reverse_pairs)
    )
    for (src, again), (source, back) in zip(same, reverse, strict=True):
        *ids, end = src
        assert (source, end) == (src, EOS_ID)
        assert (again, back) == ([BOS_ID, *ids, EOS_ID], [BOS_ID, *ids[::-1], EOS_ID])
