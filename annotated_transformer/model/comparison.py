"""Whether another way of computing gives what a model does: tried before a cache or `fast=True` is used."""

from collections.abc import Callable, Iterable
from itertools import starmap
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Int
from torch import Tensor, nn

from annotated_transformer.model.computation import Computation
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.plain import HOOKS, NotPlain, shallow_copy, unwrap

T = TypeVar("T", bound=nn.Module)
Results = list[tuple[Tensor, Tensor]]
COLLECTIONS = list, dict, set
SRC_TOKENS, SHORTER, TGT_TOKENS = 40, 4, 40


class Comparison:
    """A way of computing that refuses a model which it computes differently.

    The two are compared at the first use, and again when the code or a part of the model has changed. That
    calls no hooks.
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
        model and the other way compute. They get `copies`, by default those of `copy_to_compare`, in
        evaluation mode.
        """
        self.name, self.way_out = name, way_out
        self.refuse, self.results = refuse, results
        self.copies = copies or (lambda model: [copy_to_compare(model)])

    def __call__(self, model: nn.Module) -> None:
        """Raise NotPlain if the model is refused, or computed differently."""
        refusals = vars(model).setdefault("_refusals", Refusals()).by_comparison
        computation, refusal = refusals.get(self, (None, ""))
        if computation is None or computation.changed(model):
            self.refuse(model)
            refusal, is_final = self._compare(model)
            if is_final:
                refusals[self] = Computation(model), refusal
        elif any(computation.hooks):
            self.refuse(model)
        if refusal:
            raise NotPlain(refusal)

    def _compare(self, model: nn.Module) -> tuple[str, bool]:
        """Return how the two differ, if they do, and whether that holds for other weights, too."""
        try:
            for tried in self.copies(model):
                # Without a refusal of its own, the copy would be compared with a copy, and so on.
                known = vars(tried).setdefault("_refusals", Refusals()).by_comparison
                known[self] = Computation(tried), ""
                with evaluating(tried):
                    gaps = filter(None, starmap(difference, self.results(tried)))
                    gap = next(gaps, "")
                if gap and any(weight.isnan().any() for weight in tried.parameters()):
                    return "", False  # NaN is reported where it is used
                if gap:
                    sentence = (
                        f"{self.name} and your model differ {gap}; {self.way_out}"
                    )
                    return sentence, True
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:
            reason = str(error) if isinstance(error, NotPlain) else repr(error)
            sentence = (
                f"{self.name} cannot compute your model ({reason}); {self.way_out}"
            )
            return sentence, True
        return "", True


class Refusals:
    """Why a model was refused, kept on the model itself, and by no copy of it."""

    def __init__(self) -> None:
        self.by_comparison = WeakKeyDictionary[Comparison, tuple[Computation, str]]()

    def __reduce__(self) -> tuple[type["Refusals"], tuple[()]]:
        return Refusals, ()


def difference(expected: Tensor, actual: Tensor) -> str:
    """Return by how much the numbers differ, if it is more than rounding in their type does.

    Very large numbers, such as logits of tokens that a model never gives, are compared among themselves:
    beside them, all others would be equal. We saw up to 1e-6 in float32, 6e-4 in float16, and 0.11 in
    bfloat16.
    """
    bound = 1e-9
    if expected.dtype != torch.float64:
        scale = 1 if expected.dtype == torch.float32 else 2
        bound = scale * torch.finfo(expected.dtype).eps ** 0.5
    size = expected.abs()
    large = size > 1000 * size.median()
    for part in (large, ~large):
        gap = _gap(expected[part], actual[part])
        if not gap <= bound:
            return f"by {gap:.1e} of a result, where rounding gives at most {bound:.1e}"
    return ""


def _gap(expected: Tensor, actual: Tensor) -> float:
    if torch.equal(expected, actual):  # which may be infinite
        return 0.0
    return float((actual - expected).norm() / expected.norm().clamp(min=1e-30))


def copy_to_compare(model: T) -> T:
    """Return a copy without hooks and compiled code, which shares what the comparison does not change.

    Vectors and tiny matrices get random numbers, because a part whose gate is 0 would not show.
    """
    generator = torch.Generator().manual_seed(1)
    stirred: dict[int, Tensor] = {}  # by identity: modules may share a weight

    def stir(weight: Tensor | None) -> Tensor | None:
        if weight is None or weight.is_meta or not weight.is_floating_point():
            return weight
        if id(weight) not in stirred:
            scale = 0.3 if weight.ndim < 2 else weight.size(-1) ** -0.5
            if weight.ndim < 2 or weight.square().mean().sqrt() < scale / 10:
                noise = torch.randn(weight.shape, generator=generator)
                changed = weight.detach() + scale * noise.to(weight)
                stirred[id(weight)] = nn.Parameter(changed, requires_grad=False)
            else:
                stirred[id(weight)] = weight
        return stirred[id(weight)]

    def copied(module: nn.Module) -> nn.Module:
        module = unwrap(module)
        new = shallow_copy(module)
        for name, value in vars(module).items():
            if type(value) in COLLECTIONS:  # to which the module may add something
                new.__dict__[name] = value.copy()
        new.__dict__.pop("_refusals", None)
        new.__dict__.update({name: {} for name in HOOKS})
        for name, weight in module._parameters.items():
            new.__dict__["_parameters"][name] = stir(weight)
        for name, table in module._buffers.items():
            new._buffers[name] = table if table is None else table.clone()
        for name, part in module._modules.items():
            new._modules[name] = part if part is None else copied(part)
        return new

    return cast(T, copied(model))


def step_results(
    begin: Callable[[Tensor], Any], src: Tensor, tgt: Tensor, expected: Tensor
) -> Results:
    """Return the logits of `tgt` as expected, and step by step; halfway, the rows change their order.

    `begin` starts targets for sources. Another search of the same model begins meanwhile.
    """
    half = tgt.size(1) // 2
    swapped = torch.arange(len(tgt), device=tgt.device).flip(0)
    decoder = begin(src)
    begin(src[:1])
    logits = [decoder.step(tokens) for tokens in tgt[:, :half].unbind(1)]
    decoder.select(swapped)
    for tokens in tgt[swapped, half:].unbind(1):
        logits.append(decoder.step(tokens)[swapped])
    return [(expected, torch.stack(logits, dim=1))]


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
