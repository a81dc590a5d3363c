"""The validation loss, and checks that pairs fit a model: the chapter on training."""

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, Pair, check_pair
from annotated_transformer.training.loss import label_smoothed_cross_entropy


def mean_loss(model: Transformer, batches: list[Batch]) -> float:
    """Return the cross-entropy per label, in nats, without smoothing and dropout."""
    with evaluating(model):
        losses = [_sum_of_losses(model, batch) for batch in batches]
    return sum(losses) / sum(batch.num_labels for batch in batches)


def _sum_of_losses(model: Transformer, batch: Batch) -> float:
    check_padding(model, batch)
    batch = batch.to(next(model.parameters()).device)
    logits = model(batch.src, batch.decoder_input)
    loss = label_smoothed_cross_entropy(logits, batch.labels, smoothing=0.0, pad_id=batch.pad_id)
    return loss.item() * batch.num_labels


def check_padding(model: Transformer, batch: Batch) -> None:
    """Refuse a batch whose padding the model would read as a token.

    Raises:
        ValueError: If the two have different ids for padding.
    """
    if batch.pad_id != model.config.pad_id:
        raise ValueError(
            f"the batch is padded with {batch.pad_id}, and the model has pad_id={model.config.pad_id}; "
            f"give make_batches that pad_id"
        )


def check_fit(model: Transformer, pairs: list[Pair], *, kind: str = "pair") -> None:
    """Refuse pairs that would fail later, in the middle of an epoch.

    Raises:
        TypeError: If a side of a pair is not a list of ids.
        ValueError: If a pair is empty or too long for the model, or has ids that do not fit it.
    """
    positions = model.config.max_length
    for row, (src, tgt) in enumerate(pairs):
        check_pair(src, tgt, f"{kind} {row}")
        if max(len(src), len(tgt) - 1) > positions:
            raise ValueError(
                f"{kind} {row} has {len(src)} source and {len(tgt)} target tokens, and the "
                f"model {positions} positions; drop the pair, or build the model with a "
                f"larger max_length"
            )
        _refuse_other_ids(model.config, src, tgt, f"{kind} {row}")


def _refuse_other_ids(config: TransformerConfig, src: list[int], tgt: list[int], name: str) -> None:
    pad_id, bos_id, eos_id = config.pad_id, config.bos_id, config.eos_id
    if tgt[0] != bos_id or tgt[-1] != eos_id:
        raise ValueError(
            f"the target of {name} has ids from {tgt[0]} to {tgt[-1]}, and the model's targets begin with "
            f"bos_id={bos_id} and end with eos_id={eos_id}; build the model with your tokenizer's ids"
        )
    if pad_id in src or pad_id in tgt:
        raise ValueError(
            f"{name} holds {pad_id}, the model's pad_id, which it would ignore; leave padding to make_batches"
        )
    lowest, highest = min(*src, *tgt), max(*src, *tgt)
    if lowest < 0 or highest >= config.vocab_size:
        raise ValueError(
            f"{name} holds the id {lowest if lowest < 0 else highest}, and the model has "
            f"vocab_size={config.vocab_size}; build the model with vocab_size=tokenizer.vocab_size"
        )
