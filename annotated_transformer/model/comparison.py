"""Whether another way of computing gives what a model does: tried before a cache or `fast=True` is used."""

import copy
from collections.abc import Callable, Iterable
from itertools import starmap
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Int
from torch import Tensor, nn

from annotated_transformer.model.computation import Computation
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.plain import HOOKS, NotPlain, unwrap

T = TypeVar("T", bound=nn.Module)
Results = list[tuple[Tensor, Tensor]]
SRC_TOKENS, SHORTER, TGT_TOKENS = 9, 4, 24


class Comparison:
    """A way of computing that refuses a model which it computes differently.

    The two are compared at the first use, and again when the code or a part of the model has changed. That
    calls no hooks, and leaves the global random generator as it was.
    """

    def __init__(
        self,
        name: str,
        way_out: str,
        *,
        refuse: Callable[[Any], None],
        results: Callable[[Any], Results],
        copies: Callable[[Any], Iterable[Any]] | None = None,
    ) -> None:
        """Take the name of the other way, what to do instead, and three functions of a model.

        `refuse` raises NotPlain where no comparison is needed, such as for hooks. `results` returns what the
        model and the other way compute. They get `copies`, by default one without hooks that shares all
        weights, in evaluation mode.
        """
        self.name, self.way_out = name, way_out
        self.refuse, self.results = refuse, results
        self.copies = copies or (lambda model: [without_hooks(model)])
        self.answers = WeakKeyDictionary[nn.Module, tuple[Computation, str]]()

    def __call__(self, model: nn.Module) -> None:
        """Raise NotPlain if the model is refused, or computed differently."""
        computation, answer = self.answers.get(model, (None, ""))
        if computation is None or computation.changed(model):
            self.refuse(model)
            computation, answer = Computation(model), self._compare(model)
            self.answers[model] = computation, answer
        elif any(computation.hooks):
            self.refuse(model)
        if answer:
            raise NotPlain(answer)

    def _compare(self, model: nn.Module) -> str:
        """Return a sentence on the difference, or nothing if there is none."""
        random_state = torch.get_rng_state()
        try:
            for copied in self.copies(model):
                # The other way asks, too, while it is tried here.
                self.answers[copied] = Computation(copied), ""
                with evaluating(copied):
                    gaps = filter(None, starmap(difference, self.results(copied)))
                    gap = next(gaps, "")
                finite = (weight.isfinite().all() for weight in copied.parameters())
                if gap and all(finite):  # NaN is reported where it is used
                    return f"{self.name} and your model differ {gap}; {self.way_out}"
        except Exception as error:
            return f"{self.name} cannot compute your model ({error}); {self.way_out}"
        finally:
            torch.set_rng_state(random_state)
        return ""


def difference(expected: Tensor, actual: Tensor) -> str:
    """Return by how much the numbers differ, if it is more than rounding in their type does.

    We saw up to 1e-6 in float32, 6e-4 in float16, and 3e-2 in bfloat16.
    """
    is_double = expected.dtype == torch.float64
    bound = 1e-9 if is_double else torch.finfo(expected.dtype).eps ** 0.5
    both = (expected == actual) & expected.isinf()  # as a logit may be
    error = (actual - expected).masked_fill(both, 0).norm()
    gap = float(error / expected.masked_fill(both, 0).norm().clamp(min=1e-30))
    if gap <= bound:
        return ""
    return f"by {gap:.1e} of a result, where rounding gives at most {bound:.1e}"


def without_hooks(module: T) -> T:
    """Return a copy of a module and its parts, without hooks and compiled code, that shares their weights."""
    module = unwrap(module)
    copied = copy.copy(module)
    parts = {
        name: part if part is None else without_hooks(part)
        for name, part in module._modules.items()
    }
    copied.__dict__.update({name: {} for name in HOOKS}, _modules=parts)
    return copied


def example_ids(
    config: Any, rows: int = 2
) -> tuple[Int[Tensor, "{rows} src_tokens"], Int[Tensor, "{rows} tgt_tokens"]]:
    """Return sources, the second of which has padding, and targets, all of random tokens."""
    generator = torch.Generator().manual_seed(0)
    special = {config.pad_id, config.bos_id, config.eos_id}
    words = sorted({*range(min(config.vocab_size, 10_000))} - special)

    def random_ids(tokens: int) -> Tensor:
        size = rows, min(tokens, config.max_length)
        drawn = torch.randint(len(words) or 1, size, generator=generator)
        return torch.tensor(words or [config.eos_id])[drawn]

    src, tgt = random_ids(SRC_TOKENS), random_ids(TGT_TOKENS)
    src[:, -1], tgt[:, 0] = config.eos_id, config.bos_id
    src[1, SHORTER - 1 :] = config.pad_id
    src[1, min(SHORTER, src.size(1)) - 1] = config.eos_id
    return src, tgt
