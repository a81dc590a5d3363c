"""The loss of a model on given batches: the chapter on training."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, Pair
from annotated_transformer.text.tokenizer import PAD_ID
from annotated_transformer.training.loss import label_smoothed_cross_entropy


@torch.no_grad()
def mean_loss(model: Transformer, batches: list[Batch]) -> float:
    """Return the cross-entropy per label, in nats, without smoothing and dropout."""
    was_training = model.training
    model.eval()
    try:
        counts = [batch.num_labels for batch in batches]
        losses = [batch_loss(model, batch, smoothing=0.0).item() for batch in batches]
    finally:
        model.train(was_training)
    return sum(loss * n for loss, n in zip(losses, counts, strict=True)) / sum(counts)


def batch_loss(
    model: nn.Module, batch: Batch, *, smoothing: float, bf16: bool = False
) -> Float[Tensor, ""]:
    """Return the loss of a batch, on the model's device; `bf16` rounds the products."""
    device = next(model.parameters()).device
    batch = batch.to(device)
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        logits = model(batch.src, batch.decoder_input)
    return label_smoothed_cross_entropy(
        logits, batch.labels, smoothing=smoothing, pad_id=PAD_ID
    )


def check_fit(model: Transformer, pairs: list[Pair]) -> None:
    """Find out before the first update, not hours into the first epoch.

    Raises:
        ValueError: If a pair is too long for the model, or padded with another id.
    """
    pad_id, positions = model.config.pad_id, model.config.max_length
    if pad_id != PAD_ID:
        raise ValueError(
            f"the model has pad_id={pad_id}, but batches are padded with {PAD_ID}; "
            f"build it with that"
        )
    for row, (src, tgt) in enumerate(pairs):
        if max(len(src), len(tgt) - 1) > positions:
            raise ValueError(
                f"pair {row} has {len(src)} source and {len(tgt)} target tokens, and the "
                f"model {positions} positions; drop the pair, or build the model with a "
                f"larger max_length"
            )
