"""The loss of a model on given batches: the chapter on training."""

from annotated_transformer.model.evaluating import evaluating
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, Pair
from annotated_transformer.text.tokenizer import PAD_ID
from annotated_transformer.training.loss import label_smoothed_cross_entropy


def mean_loss(model: Transformer, batches: list[Batch]) -> float:
    """Return the cross-entropy per label, in nats, without smoothing and dropout."""
    with evaluating(model):
        losses = [_sum_of_losses(model, batch) for batch in batches]
    return sum(losses) / sum(batch.num_labels for batch in batches)


def _sum_of_losses(model: Transformer, batch: Batch) -> float:
    batch = batch.to(next(model.parameters()).device)
    logits = model(batch.src, batch.decoder_input)
    loss = label_smoothed_cross_entropy(logits, batch.labels, smoothing=0.0, pad_id=PAD_ID)
    return loss.item() * batch.num_labels


def check_fit(model: Transformer, pairs: list[Pair], *, kind: str = "pair") -> None:
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
                f"{kind} {row} has {len(src)} source and {len(tgt)} target tokens, and the "
                f"model {positions} positions; drop the pair, or build the model with a "
                f"larger max_length"
            )
