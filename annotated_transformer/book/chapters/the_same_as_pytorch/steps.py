"""The outputs of modules, observed by hooks, and how far those of two models are apart."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from torch import Tensor, nn

Outputs = dict[str, list[Tensor]]  # of each module, one for each call
SUBLAYERS = {  # of a decoder layer, each followed by a norm; an encoder layer has no cross-attention
    "self-attention": ("self_attention", "self_attn"),
    "cross-attention": ("cross_attention", "multihead_attn"),
    "feed-forward": ("feed_forward", "linear2"),
}


def steps(num_layers: int) -> dict[str, tuple[str, str]]:
    """Return the modules to compare, in the order of computation: a label, our name, and PyTorch's."""
    found = {"embedding + positions": ("dropout", "positions")}
    for stack, parts in (("encoder", ("self-attention", "feed-forward")), ("decoder", tuple(SUBLAYERS))):
        for layer in range(num_layers):
            label, place = f"{stack} {layer + 1}", f"{stack}.layers.{layer}"
            for n, part in enumerate(parts, 1):
                ours, theirs = SUBLAYERS[part]
                found[f"{label}: {part}"] = (f"{place}.{ours}", f"stacks.{place}.{theirs}")
                found[f"{label}: norm {n}"] = (f"{place}.add_norm_{n}.norm", f"stacks.{place}.norm{n}")
        found[f"{stack}: final norm"] = (f"{stack}.final_norm", f"stacks.{stack}.norm")
    return found


def outputs(model: nn.Module, names: Iterable[str], *inputs: Any) -> Outputs:
    """Run a model, and return the outputs of the named modules."""
    seen: Outputs = {}
    with ExitStack() as hooks:
        for name in names:

            def keep(module: nn.Module, args: Any, out: Any, name: str = name) -> None:
                out = out[0] if isinstance(out, tuple) else out
                seen.setdefault(name, []).append(out.detach().clone())

            module = model.get_submodule(name)
            hooks.enter_context(module.register_forward_hook(keep))
        model(*inputs)
    return seen


def relative_gap(ours: Tensor, theirs: Tensor) -> float:
    """Return the largest difference, relative to the largest of their numbers."""
    ours, theirs = ours.double(), theirs.double()
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


def step_gaps(
    ours: nn.Module,
    theirs: nn.Module,
    pairs: Mapping[str, tuple[str, str]],
    *inputs: Any,
) -> dict[str, float]:
    """Return the gap after each pair of modules, in the order of `pairs`."""
    mine, yours = zip(*pairs.values(), strict=True)
    left, right = outputs(ours, mine, *inputs), outputs(theirs, yours, *inputs)
    gaps = {}
    for label, (one, other) in pairs.items():
        calls = zip(left[one], right[other], strict=True)
        gaps[label] = max(relative_gap(a, b) for a, b in calls)
    return gaps


def first_above(found: Mapping[str, float], tolerance: float) -> str | None:
    """Return the first step whose gap is above a tolerance, or is no number; None if there is none."""
    return next((label for label, size in found.items() if not size <= tolerance), None)
