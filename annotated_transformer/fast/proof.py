"""The proof that the accelerated path computes what a model computes, before it is used.

Both compute the same input on a copy of the model: in float64, where rounding hides no changed formula, and
once in the model's own type, where only a wrong conversion shows. The copy has random gains and biases, which
are all alike in a new model, and no dropout, whose masks differ.

An input as small as this shows neither what dropout does nor what happens beyond its 40 tokens.
"""

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from annotated_transformer.fast.loss import FastLoss
from annotated_transformer.fast.modules import fast_modules
from annotated_transformer.model.comparison import Comparison, Results, copy_to_compare, example_ids
from annotated_transformer.model.plain import NotPlain, refuse_hooks
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch
from annotated_transformer.training.loss import PlainLoss

LABELS = 257  # more than a chunk, in which the fast loss is computed
WAY_OUT = "run without fast=True: your model computes something else"


def refuse_other_loss(model: Transformer, *, smoothing: float, bf16: bool) -> None:
    """Refuse to train a model whose loss or gradients `FastLoss` would not compute."""

    def compute(kind: type[PlainLoss | FastLoss], model: Transformer, batch: Batch) -> list[Tensor]:
        torch.manual_seed(0)
        half = bf16 and not _is_double(model)
        value, weights = kind(model, smoothing=smoothing, bf16=half)(batch), [*model.parameters()]
        gradients = torch.autograd.grad(value, weights, allow_unused=True, materialize_grads=True)
        numbers = [value.detach(), torch.cat([gradient.flatten() for gradient in gradients])]
        return [each.to(torch.bfloat16 if half else numbers[1].dtype) for each in numbers]

    def results(model: Transformer) -> Results:
        pairs: list[tuple[Tensor, Tensor]] = []
        model.train().requires_grad_(True)
        # A part of the model may draw: the same for both, and nothing from the global generator.
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            for batch in _batches(model)[: 2 if _is_double(model) else 1]:
                expected = compute(PlainLoss, model, batch)
                with fast_modules(model):
                    pairs += zip(expected, compute(FastLoss, model, batch), strict=True)
        return pairs

    compare = Comparison("fast=True", WAY_OUT, refuse=refuse_parts, results=results, copies=stirred_copies)
    compare(model)


def refuse_other_devices(model: Transformer) -> None:
    """Raise NotPlain if the model is not on a CPU."""
    if (device := model.embedding.weight.device).type != "cpu":
        raise NotPlain(f"fast=True is made for CPUs, and the model is on {device}; leave it out")


def refuse_parts(model: Transformer) -> None:
    """Raise NotPlain if the model is not on a CPU, or has hooks."""
    refuse_other_devices(model)
    refuse_hooks(model, "which fast=True would not call; remove them, or run without it")


def stirred_copies(model: Transformer) -> Iterator[Transformer]:
    """Yield a copy in float64 and, if it has another type, in its own: with random vectors, no dropout."""
    for dtype in (torch.float64, None)[: 1 if _is_double(model) else 2]:
        # Copied twice, because the first copy shares its large weights with the model.
        copied = copy.deepcopy(copy_to_compare(model)).to(dtype)
        for module in copied.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        yield copied


def _batches(model: Transformer) -> list[Batch]:
    """Return a small batch, and one of more than a chunk of labels; both have padding."""
    batches, config = [], model.config
    for rows in (2, 1 + LABELS // (example_ids(config)[1].size(1) - 1)):
        src, tgt = example_ids(config, rows + 1)
        tgt[1, 3:] = config.pad_id
        batches.append(Batch([*range(len(src))], src, tgt, config.pad_id))
    return batches


def _is_double(model: Transformer) -> bool:
    return model.embedding.weight.dtype == torch.float64
