"""Whether another way of computing gives what a model does: tried before a cache or `fast=True` is used."""

import copy
import weakref
from collections.abc import Callable, Iterable, Iterator
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
BEGINNINGS = 1, 2, 3, 7, 20  # of the targets, in tokens


class Comparison:
    """A way of computing that refuses a model which it computes differently.

    The two are compared at the first use, and again when the code, a part, or a weight of the model has
    changed. That calls no hooks.
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
        model and the other way compute. They get `copies`, by default those of `copies_to_compare`,
        in evaluation mode.
        """
        self.name, self.way_out = name, way_out
        self.refuse, self.results = refuse, results
        self.copies = copies or copies_to_compare

    def __call__(self, model: nn.Module) -> None:
        """Raise NotPlain if the model is refused, or computed differently."""
        known: Refusals | None = vars(model).get("_refusals")
        if known is None or known.model() is not model:  # as after `copy.copy`
            known = vars(model)["_refusals"] = Refusals(model)
        if known.of_a_copy:
            return
        refusals = known.by_comparison
        computation, refusal = refusals.get(self, (None, ""))
        if computation is None or computation.changed(model):
            self.refuse(model)
            written: set[str] = set()
            refusal, is_final = self._compare(model, written)
            if is_final:
                refusals[self] = Computation(model, written), refusal
        elif any(computation.hooks):
            self.refuse(model)
        if refusal:
            raise NotPlain(refusal)

    def _compare(self, model: nn.Module, written: set[str]) -> tuple[str, bool]:
        """Return how the two differ, if they do, and whether that holds from now on.

        Add the names of attributes to which computing writes: that these change is no change of the model.
        """
        try:
            for tried in self.copies(model):
                vars(tried)["_refusals"] = refusals = Refusals(tried)
                refusals.of_a_copy = True
                before = Computation(tried)
                with evaluating(tried):
                    gaps = filter(None, starmap(difference, self.results(tried)))
                    gap = next(gaps, "")
                written |= before.written()
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
    """Why a model was refused, kept on the model itself, and by no copy of it.

    A copy that is compared with a model is not compared with a copy in turn.
    """

    of_a_copy = False

    def __init__(self, model: nn.Module | None = None) -> None:
        self.model = (lambda: None) if model is None else weakref.ref(model)
        self.by_comparison = WeakKeyDictionary[Comparison, tuple[Computation, str]]()

    def __reduce__(self) -> tuple[type["Refusals"], tuple[()]]:
        return Refusals, ()


def difference(expected: Tensor, actual: Tensor) -> str:
    """Return by how much the numbers differ, if it is more than rounding in their type does.

    Very large numbers, such as logits of tokens that a model never gives, are compared among themselves:
    beside them, all others would be equal. We saw up to 1e-6 in float32, 6e-4 in float16, and 0.19 in
    bfloat16.
    """
    bound = 1e-9
    if expected.dtype != torch.float64:
        # Half types are wide: a copy of such a model is compared in float32, too.
        scale = 1 if expected.dtype == torch.float32 else 3
        bound = scale * torch.finfo(expected.dtype).eps ** 0.5
    others = ~(expected.isinf() & (expected == actual))
    expected, actual = expected[others], actual[others]
    if expected.dtype.itemsize == 2:  # in which a norm may be infinite
        expected, actual = expected.float(), actual.float()
    size = expected.abs()
    known = size[size > 0]
    usual = known.kthvalue(1 + len(known) // 10).values if len(known) else 0
    large = size > 1000 * usual
    for part in (large, ~large):
        gap = _gap(expected[part], actual[part])
        if not gap <= bound:
            return f"by {gap:.1e} of a result, where rounding gives at most {bound:.1e}"
    return ""


def _gap(expected: Tensor, actual: Tensor) -> float:
    return float((actual - expected).norm() / expected.norm().clamp(min=1e-30))


def copies_to_compare(model: T) -> Iterator[T]:
    """Yield a copy and, if its numbers have half precision, whose rounding hides much, one in float32."""
    yield (copied := copy_to_compare(model))
    if any(weight.dtype.itemsize == 2 for weight in model.parameters()):
        yield copy.deepcopy(copied).float()


def copy_to_compare(model: T) -> T:
    """Return a copy without hooks and compiled code, which shares what the comparison does not change.

    Vectors, tiny matrices, and those with many zeros get random numbers: a part whose gate is 0, or whose
    kernel is an identity so far, would not show.
    """
    generator = torch.Generator().manual_seed(1)
    stirred: dict[int, Tensor] = {}  # by identity: modules may share a weight

    def stir(weight: Tensor | None) -> Tensor | None:
        if weight is None or weight.is_meta or not weight.is_floating_point():
            return weight
        if id(weight) not in stirred:
            scale = 0.3 if weight.ndim < 2 else weight.size(-1) ** -0.5
            tiny = weight.square().mean().sqrt() < scale / 10
            if weight.ndim < 2 or tiny or (weight == 0).double().mean() > 0.25:
                noise = scale * torch.randn(weight.shape, generator=generator).to(
                    weight
                )
                positive = bool((weight > 0).all())  # as a temperature must stay
                changed = weight.detach() * noise.exp() if positive else weight + noise
                stirred[id(weight)] = nn.Parameter(
                    changed.detach(), requires_grad=False
                )
            else:
                stirred[id(weight)] = weight
        return stirred[id(weight)]

    copies: dict[nn.Module, nn.Module] = {}  # a part may be in several places

    def copied(module: nn.Module) -> nn.Module:
        module = unwrap(module)
        if module in copies:
            return copies[module]
        new = copies[module] = shallow_copy(module)
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

    def exchanged(value: Any) -> Any:
        return (
            copies.get(unwrap(value), value) if isinstance(value, nn.Module) else value
        )

    root = copied(model)
    for new in copies.values():  # parts that a list of the model's own holds
        for name, value in vars(new).items():
            if type(value) in (list, tuple):
                new.__dict__[name] = type(value)(map(exchanged, value))
    return cast(T, root)


def step_results(
    begin: Callable[[Tensor], Any],
    whole: Callable[[Tensor], Tensor],
    src: Tensor,
    tgt: Tensor,
) -> Results:
    """Return the logits of `tgt` by `whole`, and step by step; halfway, the rows change their order.

    `begin` starts targets for sources. Another search of the same model begins meanwhile. Some beginnings of
    `tgt` are computed as well: a model may treat a short target otherwise.
    """
    half = tgt.size(1) // 2
    swapped = torch.arange(len(tgt), device=tgt.device).flip(0)
    decoder = begin(src)
    begin(src[:1])
    logits = [decoder.step(tokens) for tokens in tgt[:, :half].unbind(1)]
    decoder.select(swapped)
    for tokens in tgt[swapped, half:].unbind(1):
        logits.append(decoder.step(tokens)[swapped])
    stepped = torch.stack(logits, dim=1)
    begun = [n for n in BEGINNINGS if n < tgt.size(1)]
    results = [(whole(tgt[:, :n])[:, -1], stepped[:, n - 1]) for n in begun]
    return [(whole(tgt), stepped), *results]


def example_ids(
    config: Any, rows: int = 2
) -> tuple[Int[Tensor, "{rows} src_tokens"], Int[Tensor, "{rows} tgt_tokens"]]:
    """Return sources, the second of which has padding, and targets: random tokens, some of them twice."""
    generator = torch.Generator().manual_seed(0)
    special = {config.pad_id, config.bos_id, config.eos_id}
    words = sorted({*range(min(config.vocab_size, 10_000))} - special)

    def random_ids(tokens: int) -> Tensor:
        size = rows, min(tokens, config.max_length)
        drawn = torch.randint(len(words) or 1, size, generator=generator)
        again = size[1] // 4
        drawn[:, size[1] - again :] = drawn[:, 1 : 1 + again]
        return torch.tensor(words or [config.eos_id])[drawn]

    src, tgt = random_ids(SRC_TOKENS), random_ids(TGT_TOKENS)
    src[:, -1], tgt[:, 0] = config.eos_id, config.bos_id
    src[1, SHORTER - 1 :] = config.pad_id
    src[1, min(SHORTER, src.size(1)) - 1] = config.eos_id
    return src, tgt
