"""Greedy search that queues steps on a GPU, and seldom asks it for a value: the chapter on decoding.

Python runs ahead of a GPU until it asks for a value, such as whether a target has ended; then it waits, and
after that, the GPU does. So targets that have ended go on, without effect, until half of the rows have ended.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.inference import NAN, NO_TOKEN, suppress_tokens
from annotated_transformer.model.trainable import QueuedDecoder


def generate_queued(
    targets: QueuedDecoder,
    tokens: Int[Tensor, " batch"],
    limit: Int[Tensor, " batch"],
    config: TransformerConfig,
    choose: Callable[[Tensor], Tensor],
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return the targets that `generate` returns, which begin after `tokens` and end at `limit`.

    The GPU is asked after every `targets.interval` steps, and also in between if `choose` asks it.

    Raises:
        FloatingPointError: If the model's logits are NaN.
    """
    rows, running = torch.arange(len(limit), device=limit.device), torch.ones_like(limit, dtype=torch.bool)
    nan = torch.zeros_like(running[:1])
    ids = torch.full((len(limit), int(limit.max())), config.pad_id, device=limit.device)
    for length in range(1, ids.size(1) + 1):
        logits = suppress_tokens(targets.step(tokens), config)
        tokens = choose(logits)
        nan |= (running & ((tokens == NO_TOKEN) | logits.amax(dim=1).isnan())).any()
        tokens = tokens.clamp(min=0)  # the decoder takes no other, and would not say so on a GPU
        ids[:, length - 1].index_copy_(0, rows, tokens.where(running, config.pad_id))
        running &= (tokens != config.eos_id) & (length < limit)
        if length % targets.interval == 0 or length == ids.size(1):
            going_on = _going_on(running, nan)
            if not going_on:
                break
            if 2 * len(going_on) <= len(rows):
                kept = torch.tensor(going_on, device=rows.device)
                rows, tokens, limit, running = rows[kept], tokens[kept], limit[kept], running[kept]
                targets.select(kept)
    longest = (ids != config.pad_id).sum(dim=1).max()
    return ids[:, : int(longest)].clone()  # autograd cannot use tensors from inference mode


def _going_on(running: Bool[Tensor, " rows"], nan: Bool[Tensor, "1"]) -> list[int]:
    """Wait for the device, and return the rows that have not ended."""
    *answers, damaged = torch.cat([running, nan]).tolist()
    if damaged:
        raise FloatingPointError(NAN)
    return [row for row, goes_on in enumerate(answers) if goes_on]
