"""How many numbers a training step keeps for the backward pass, predicted from the shape and measured."""

from annotated_transformer.book.chapters.cost_and_scale.counting import kept_bytes
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.loss import label_smoothed_cross_entropy
from annotated_transformer.model.masks import decoder_mask, padding_mask
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch

FLOAT = 4  # bytes of a number
Parts = dict[str, int]  # the bytes of each part of the model


def predict_kept(shape: TransformerConfig, sentences: int, src: int, tgt: int) -> Parts:
    """Return the bytes that each part of the package's plain post-norm model keeps.

    `src` and `tgt` are the tokens of each sentence; numbers are float32. Attention
    masks, one byte per number, are left out. With dropout, each sub-layer and each
    stack's input keeps a mask of as many numbers as it has features.
    """
    d, layers, dropout = shape.d_model, shape.num_layers, 1 if shape.dropout else 0

    def attention(queries: int, keys: int) -> int:  # inputs, heads, and weights twice
        return d * (3 * queries + 2 * keys) + 2 * shape.num_heads * queries * keys

    def rest(tokens: int, sublayers: int) -> int:  # the network, norms, and dropout
        return tokens * (d + shape.d_ff + sublayers * (2 * d + 1 + dropout * d))

    decoder_layer = attention(tgt, tgt) + attention(tgt, src) + rest(tgt, 3)
    parts = {
        "encoder": layers * (attention(src, src) + rest(src, 2)) + dropout * src * d,
        "decoder": layers * decoder_layer
        + d * src  # the memory, once for all layers
        + dropout * tgt * d,
        "logits": tgt * (d + shape.vocab_size),
    }
    return {name: FLOAT * sentences * numbers for name, numbers in parts.items()}


def measure_kept(model: Transformer, batch: Batch) -> Parts:
    """Return the bytes that each part keeps in a training step, each tensor once."""
    pad_id, totals = model.config.pad_id, []
    memory_mask, mask = padding_mask(batch.src, pad_id), decoder_mask(batch.decoder_input, pad_id)

    def encode() -> None:
        model.encode(batch.src, memory_mask)

    def decode() -> None:
        memory = model.encode(batch.src, memory_mask)
        model.decode(batch.decoder_input, memory, mask, memory_mask)

    def whole() -> None:
        logits = model(batch.src, batch.decoder_input)
        label_smoothed_cross_entropy(logits, batch.labels, smoothing=0.1, pad_id=pad_id)

    for run in (encode, decode, whole):
        totals.append(kept_bytes(run, model.parameters()))
    steps = zip(("encoder", "decoder", "logits"), [0, *totals], totals, strict=False)
    return {name: after - before for name, before, after in steps}
