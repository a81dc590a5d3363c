"""Inference: no dropout (section 5.4), no gradients, and which tokens may come next.

Every decoding method begins targets with BOS, and generates neither PAD nor BOS after it.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from threading import RLock
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.id_checks import check_ids
from annotated_transformer.model.masks import padding_mask
from annotated_transformer.model.plain import OwnHook
from annotated_transformer.model.transformer import Transformer

NAN = "the model's logits are NaN; its weights are damaged: train it again, with a lower learning rate"

_LOCK = RLock()  # an abandoned context may end while its thread begins another
_EVALUATED: Counter[nn.Module] = Counter()  # contexts that have turned dropout off


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Disable dropout, gradients and compiled code, and restore their previous state afterwards.

    If contexts overlap, as in threads, the last one to end turns dropout on again.
    """
    with _LOCK:
        trained = [
            module
            for module in model.modules()
            if module.training or module in _EVALUATED
        ]
        for module in trained:
            module.training = False
        _EVALUATED.update(trained)
    try:
        with torch.no_grad(), calling_hooks():
            yield
    finally:
        with _LOCK:
            for module in trained:
                _EVALUATED[module] -= 1
                if not _EVALUATED[module]:
                    del _EVALUATED[module]
                    module.training = True


class _Uncompiled:
    """Run no compiled code in this process until the last of the contexts that overlap, as in threads, ends.

    PyTorch restores what was in force when a context began: for the second of two that overlap, the first.
    """

    def __init__(self) -> None:
        self.inside = 0
        self.begun: AbstractContextManager[object] = nullcontext()

    def __enter__(self) -> None:
        with _LOCK:
            if self.inside == 0:
                self.begun = torch.compiler.set_stance("force_eager")
                self.begun.__enter__()
            self.inside += 1

    def __exit__(self, *error: object) -> None:
        with _LOCK:
            self.inside -= 1
            if self.inside == 0:
                self.begun.__exit__(None, None, None)


_UNCOMPILED = _Uncompiled()


def calling_hooks() -> AbstractContextManager[object]:
    """Run compiled modules as they are written: compiled code ignores hooks that were added later."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()  # nothing was compiled, and the import would take seconds
    if torch.compiler.is_compiling():
        return nullcontext()  # of a caller, with the hooks that it registers
    return _UNCOMPILED


@contextmanager
def hooking(
    register: Callable[..., RemovableHandle], hook: Callable[..., Any]
) -> Iterator[None]:
    """Register a hook inside the `with` block that runs in this thread alone.

    Other threads use the model as if it had none: see `plain.any_hook`.
    """
    hook = OwnHook(hook)
    with _LOCK:  # PyTorch may give two hooks of a module one number
        handle = register(hook)
    try:
        with calling_hooks():
            yield
    finally:
        handle.remove()


@contextmanager
def collecting(modules: Iterable[nn.Module]) -> Iterator[list[Any]]:
    """Collect what modules return to this thread, in the order of their calls."""
    outputs: list[Any] = []
    with ExitStack() as hooks:
        for module in modules:
            keep = hooking(
                module.register_forward_hook, lambda _, args, out: outputs.append(out)
            )
            hooks.enter_context(keep)
        yield outputs


def encode_sources(
    model: Transformer, src: Int[Tensor, "batch src_tokens"]
) -> tuple[
    Float[Tensor, "batch src_tokens d_model"], Bool[Tensor, "batch 1 1 src_tokens"]
]:
    """Return the memory of the sources, and its mask: where every decoder starts."""
    check_ids(src, "source ids")
    mask = padding_mask(src, model.config.pad_id)
    return model.encode(src, mask), mask


def first_tokens(
    src: Int[Tensor, "batch src_tokens"], config: TransformerConfig
) -> Int[Tensor, " batch"]:
    """Return BOS, the token that every target begins with, for each source."""
    return torch.full_like(src[:, 0], config.bos_id)


def suppress_tokens(
    logits: Float[Tensor, "rows vocab"], config: TransformerConfig
) -> Float[Tensor, "rows vocab"]:
    r"""Set the logits of PAD and BOS to $-\infty$, in place: neither occurs within a target.

    Logits of half precision are copied to float32, in which log-probabilities can be summed.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    logits[:, config.pad_id] = -math.inf
    logits[:, config.bos_id] = -math.inf
    return logits


def refuse_nan(values: Tensor) -> None:
    """Refuse logits or probabilities of a model with damaged weights."""
    if values.isnan().any():
        raise FloatingPointError(NAN)
