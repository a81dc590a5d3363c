"""The proof that the accelerated path computes what a model computes, before it is used.

Both compute the same input on a copy of the model: in float64, where rounding hides no changed formula, and
once in the model's own type, where only a wrong conversion shows. The copy has random gains and biases, which
are all alike in a new model, and no dropout, whose masks differ.

An input as small as this shows neither what dropout does nor what happens beyond its 24 tokens.
"""

import copy
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import is_
from threading import Lock
from types import FunctionType, MethodType
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from annotated_transformer.decoding.kv_cache import MakeDecoder, cached_or_not
from annotated_transformer.fast.loss import FastLoss
from annotated_transformer.fast.modules import fast_modules
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.plain import GLOBAL_HOOKS, NotPlain, any_hook, hooks_of, refuse_hooks
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, make_batches
from annotated_transformer.training.loss import PlainLoss

LIMIT = 1e-9  # in float64, where the difference is about 1e-15, and 1e-6 or more if a formula was changed
SIZES = (7, 8, 3, 2), (17, 24, 20, 11)  # tokens of a source, of its target, of a pair with padding; rows
_LOCK = Lock()  # filters of warnings and torch's random state are those of all threads
_PROVED: "WeakKeyDictionary[Transformer, Computation]" = WeakKeyDictionary()


def refuse_other_loss(model: Transformer, *, smoothing: float, bf16: bool) -> None:
    """Refuse to train a model whose loss or gradients `FastLoss` would not compute."""
    refuse_other_devices(model)
    refuse_hooks(model, HOOKS)

    def compute(kind: type[PlainLoss | FastLoss], model: Transformer) -> list[Tensor]:
        double = _is_double(model)
        loss, found = kind(model, smoothing=smoothing, bf16=bf16 and not double), []
        for batch in _batches(model)[: 2 if double else 1]:
            value = loss(batch)
            weights = [*model.parameters()]
            gradients = torch.autograd.grad(value, weights, allow_unused=True, materialize_grads=True)
            found += [value.detach(), torch.cat([gradient.flatten() for gradient in gradients])]
        return found

    def fast(model: Transformer) -> list[Tensor]:
        with fast_modules(model):
            return compute(FastLoss, model)

    with torch.enable_grad():
        for copied in _copies(model):
            copied.train().requires_grad_(True)
            dtype = torch.bfloat16 if bf16 and not _is_double(copied) else copied.embedding.weight.dtype
            _compare(partial(compute, PlainLoss, copied), partial(fast, copied), copied, dtype, "the loss")


def refuse_other_steps(model: Transformer, decoder: MakeDecoder) -> None:
    """Refuse to decode with a model whose steps `decoder` would not compute.

    They are compared at the first use, and again if a part of the model, or a function that computes it, is
    another object than at the last one.
    """
    refuse_other_devices(model)
    with _LOCK:
        if (last := _PROVED.get(model)) and not last.changed():
            return
        refuse_hooks(model, HOOKS)
        _compare_steps(model, decoder)
        _PROVED[model] = Computation(model)


def _compare_steps(model: Transformer, decoder: MakeDecoder) -> None:
    def compute(make: MakeDecoder, model: Transformer) -> list[Tensor]:
        found = []
        for batch in _batches(model):
            steps = make(model, batch.src)
            whole = (batch.tgt != model.config.pad_id).all(dim=0)  # as long as no target has ended
            given = batch.tgt[:, whole][:, : model.config.max_length]
            found += [steps.step(tokens).clone() for tokens in given.unbind(1)]
        return found

    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # the plain path may be without a cache
        for copied in _copies(model):
            with evaluating(copied):
                plain = partial(compute, cached_or_not, copied)
                dtype = copied.embedding.weight.dtype
                _compare(plain, partial(compute, decoder, copied), copied, dtype, "a logit")


class Computation:
    """What computes a model: the functions of our modules, and the parts and numbers of the model itself."""

    def __init__(self, model: nn.Module) -> None:
        """Remember them, all by their place; the model has no hooks."""
        modules = [module for name, module in sorted(sys.modules.items()) if name.startswith(OURS)]
        spaces: list[Mapping[str, object]] = [vars(module) for module in modules]
        kinds = {x for space in spaces for x in space.values() if isinstance(x, type)}
        spaces += [vars(kind) for kind in kinds if kind.__module__.startswith(OURS)]
        self.modules = [*model.modules()]
        self.own = [vars(module) for module in self.modules]
        self.places = [
            (space, name)
            for space in spaces + self.own
            for name, x in space.items()
            if isinstance(x, PARTS) and name != "training"
        ]
        self.children = [own["_modules"] for own in self.own]
        self.hooks = GLOBAL_HOOKS + [hooks for module in self.modules for hooks in hooks_of(module)]
        self.now = self._now()

    def changed(self) -> bool:
        """Return whether one of them is another object by now, or has hooks."""
        now = self._now()
        return len(now) != len(self.now) or not all(map(is_, now, self.now)) or any_hook(*self.hooks)

    def _now(self) -> list[object]:
        found: list[object] = [space.get(name) for space, name in self.places]
        for children in self.children:
            found += children.values()
        found.extend(map(type, self.modules))
        found.extend(map(len, self.own))  # a method may be set on a module
        return found


PARTS = FunctionType, MethodType, property, int, float  # such as a number of heads
OURS = tuple(f"annotated_transformer.{name}" for name in ("model.", "modern.", "decoding.kv_cache"))


def refuse_other_devices(model: Transformer) -> None:
    """Raise NotPlain if the model is not on a CPU."""
    if (device := model.embedding.weight.device).type != "cpu":
        raise NotPlain(f"fast=True is made for CPUs, and the model is on {device}; leave it out")


HOOKS = "which fast=True would not call; remove them, or run without it"


def _batches(model: Transformer) -> list[Batch]:
    """Return a batch of short sentences, and one of long ones that has more than 256 labels.

    The loss is computed in chunks of 256. In both, there is padding.
    """
    config, generator = model.config, torch.Generator().manual_seed(0)
    special = {config.pad_id, config.bos_id, config.eos_id}
    ids = [id_ for id_ in range(config.vocab_size) if id_ not in special] or [config.eos_id]

    def sentence(tokens: int) -> list[int]:
        drawn = torch.randint(len(ids), (min(tokens, config.max_length) - 1,), generator=generator)
        return [ids[i] for i in drawn.tolist()] + [config.eos_id]

    batches = []
    for src, tgt, less, rows in SIZES:
        lengths = [(less, less)] + [(src, tgt)] * (rows * tgt // min(tgt, config.max_length))
        pairs = [(sentence(own), [config.bos_id, *sentence(other)]) for own, other in lengths]
        batches += make_batches(pairs, batch_tokens=10**6, pad_id=config.pad_id)
    return batches


def _copies(model: Transformer) -> Iterator[Transformer]:
    """Yield a copy in float64 and, if it has another type, in its own: with random vectors, no dropout."""
    for dtype in (torch.float64, None)[: 1 if _is_double(model) else 2]:
        copied = copy.deepcopy(model).to(dtype)
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for vector in copied.parameters():
                if vector.ndim == 1:
                    vector.add_(torch.randn(vector.shape, generator=generator).to(vector), alpha=0.3)
        for module in copied.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        yield copied


def _is_double(model: Transformer) -> bool:
    return model.embedding.weight.dtype == torch.float64


def _limit(dtype: torch.dtype) -> float:
    """Return the largest difference from rounding: in the model's own type, about half of its digits agree.

    We saw up to 2e-5 in float32 and, with the model en-de, 0.09 in bfloat16.
    """
    return LIMIT if dtype == torch.float64 else 2 * torch.finfo(dtype).eps ** 0.5


def _compare(
    plain: Callable[[], list[Tensor]],
    fast: Callable[[], list[Tensor]],
    model: Transformer,
    dtype: torch.dtype,
    what: str,
) -> None:
    """Raise NotPlain if the numbers differ, relative to the norm of the plain ones, or are NaN.

    They are computed in `dtype`. NaN from weights that are NaN is reported where it is used.
    """
    with torch.random.fork_rng(devices=[]):  # a part of the model may draw
        try:
            torch.manual_seed(0)
            expected = plain()
            torch.manual_seed(0)
            found = fast()
        except Exception as error:
            raise NotPlain(f"fast=True cannot compute your model ({error}); {WAY_OUT}") from error
    for one, other in zip(found, expected, strict=True):
        gap = float((one - other).norm() / other.norm().clamp(min=1e-30))
        if not gap <= _limit(dtype) and all(weight.isfinite().all() for weight in model.parameters()):
            raise NotPlain(
                f"fast=True and your model differ by {gap:.1e} of {what} or its gradient; {WAY_OUT}"
            )


WAY_OUT = "run without fast=True: your model computes something else"
