"""From a source sentence to the best target sentence: section 6.1 of the paper, the chapter on decoding."""

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.model.masks import decoder_mask, padding_mask
from annotated_transformer.model.transformer import Transformer

EXTRA_TOKENS = 50  # "the maximum output length during inference [is] input length + 50"


@torch.no_grad()
def greedy_search(
    model: Transformer, src: Int[Tensor, "batch src_tokens"]
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return, for each source, the target that takes the likeliest token at every step.

    A target has no BOS. It ends with EOS, or without one where it has reached the length of its own
    source plus 50, or the longest that the model has positions for; padding fills the rest. So a
    sentence is translated alike alone and in company. Dropout is off meanwhile.
    """
    pad_id, config = model.config.pad_id, model.config
    real = src != pad_id
    if not src.numel() or not real.any(dim=1).all():
        raise ValueError(
            f"src of shape {tuple(src.shape)} holds an empty source: every row needs a token that is not "
            f"padding (pad_id={pad_id}), EOS at least"
        )
    limit = (real.sum(dim=1) + EXTRA_TOKENS).clamp(max=config.max_length)
    was_training = model.training
    model.eval()
    try:
        memory_mask = padding_mask(src, pad_id)
        memory = model.encode(src, memory_mask)
        tgt = torch.full((len(src), 1), config.bos_id, device=src.device)
        running = torch.ones(len(src), dtype=torch.bool, device=src.device)
        while running.any():
            hidden = model.decode(tgt, memory, decoder_mask(tgt, pad_id), memory_mask)
            best = model.logits(hidden[:, -1:]).argmax(dim=-1)
            tgt = torch.cat([tgt, best.masked_fill(~running.unsqueeze(1), pad_id)], dim=1)
            running = running & (tgt[:, -1] != config.eos_id) & (tgt.size(1) - 1 < limit)
    finally:
        model.train(was_training)
    return tgt[:, 1:]
