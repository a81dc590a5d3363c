"""Inference: no dropout (section 5.4), no gradients, and which tokens may come next.

Every decoding method begins targets with BOS, and generates neither PAD nor BOS after it.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from annotated_transformer.config import ModelConfig
from annotated_transformer.model.id_checks import check_ids
from annotated_transformer.model.masks import padding_mask
from annotated_transformer.model.plain import OwnHook
from annotated_transformer.model.trainable import StepDecoder
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.model.uncompiled import LOCK, UNCOMPILED

_EVALUATED: Counter[nn.Module] = Counter()  # contexts that have turned dropout off


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Disable dropout, gradients and compiled code, and restore their previous state afterwards.

    If contexts overlap, as in threads, the last one to end turns dropout on again.
    """
    with LOCK:
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
        with LOCK:
            for module in trained:
                _EVALUATED[module] -= 1
                if not _EVALUATED[module]:
                    del _EVALUATED[module]
                    module.training = True


def calling_hooks() -> AbstractContextManager[object]:
    """Run compiled modules as they are written: compiled code ignores hooks that were added later."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()  # nothing was compiled, and the import would take seconds
    if torch.compiler.is_compiling():
        return nullcontext()  # of a caller, with the hooks that it registers
    return UNCOMPILED


@contextmanager
def hooking(
    register: Callable[..., RemovableHandle], hook: Callable[..., Any]
) -> Iterator[None]:
    """Register a hook inside the `with` block that runs in this thread alone.

    Other threads use the model as if it had none: see `plain.any_hook`.
    """
    hook = OwnHook(hook)
    with LOCK:  # PyTorch may give two hooks of a module one number
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
    src: Int[Tensor, "batch src_tokens"], config: ModelConfig
) -> Int[Tensor, " batch"]:
    """Return BOS, the token that every target begins with, for each source."""
    return torch.full_like(src[:, 0], config.bos_id)


def suppress_tokens(
    logits: Float[Tensor, "rows vocab"], config: ModelConfig
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
        raise FloatingPointError(
            "the model's logits are NaN; its weights are damaged: train it again, with a lower learning rate"
        )


def grow_targets(
    targets: StepDecoder,
    prompt: Int[Tensor, "batch tgt_tokens"],
    limit: Int[Tensor, " batch"],
    choose: Callable[[Tensor], Tensor],
    config: ModelConfig,
) -> Int[Tensor, "batch _tgt_tokens"]:
    """Return what follows the first token of each prompt, until EOS or `limit`, and then padding.

    The other tokens of a prompt are forced; `choose` chooses those after it from their logits.
    """
    length, tokens = 0, prompt[:, 0]
    shape = len(prompt), int(limit.max())
    ids = torch.full(shape, config.pad_id, device=prompt.device)
    rows = torch.arange(len(prompt), device=prompt.device)
    while len(rows):
        logits = suppress_tokens(targets.step(tokens), config)
        tokens = choose(logits)
        length += 1
        if length < prompt.size(1):
            forced = prompt[rows, length]
            tokens = torch.where(forced != config.pad_id, forced, tokens)
        ids[rows, length - 1] = tokens
        running = (tokens != config.eos_id) & (length < limit[rows])
        if not running.all():
            # Once NaN, the logits of a target stay NaN.
            refuse_nan(logits.gather(1, tokens[:, None]))
            rows, tokens = rows[running], tokens[running]
            targets.select(running.nonzero().flatten())
    return ids[:, :length]
