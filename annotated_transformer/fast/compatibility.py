"""The models and steps that decoding and its key-value caches refuse.

A cache computes a module's result without calling the module, so the module must be plain.
"""

from itertools import chain

from torch import Tensor, nn

from annotated_transformer.model.attention import FusedAttention, ScaledDotProductAttention
from annotated_transformer.model.decoder import Decoder, DecoderLayer, decoder_layers
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.feed_forward import ACTIVATIONS, FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PostNorm, PreNorm
from annotated_transformer.model.plain import changes, unwrap
from annotated_transformer.model.positional_encoding import LearnedPositions, SinusoidalPositions
from annotated_transformer.model.transformer import Transformer

KNOWN = (
    *(TokenEmbedding, SinusoidalPositions, LearnedPositions, Decoder, DecoderLayer),
    *(MultiHeadAttention, ScaledDotProductAttention, FusedAttention, FeedForward),
    *(PostNorm, PreNorm, LayerNorm),
    *(nn.Linear, nn.Dropout, nn.Identity, nn.ModuleList, *ACTIVATIONS.values()),
)
IDLE = (nn.Dropout, nn.Identity)  # allowed as `dropout` and `weights`: both do nothing in evaluation
NO_CACHE = "decode with NoCache, which calls decode as a whole"
PLAIN_CACHE = "decode with KeyValueCache, which calls every module (for a Translator: fast=False)"


def refuse_for_decoding(model: Transformer) -> None:
    """Refuse a model whose `forward` or `hidden` is changed: decoding calls `encode`, `decode`, and `logits`.

    Raises:
        ValueError: If one of the two is overridden, or the model has hooks.
    """
    way_out = "override encode, decode, or logits instead"
    _refuse_changed("model", model, Transformer, "forward", "hidden", by="decoding", way_out=way_out)


def refuse_for_cache(model: Transformer) -> None:
    """Refuse a model with a changed part that `KeyValueCache` does not call.

    The cache calls the modules inside each layer. It does not call `decode`, nor the `forward` of
    the decoder, its layers and their two attentions.

    Raises:
        ValueError: If one of these is overridden or has hooks, or the model cannot be decoded at all.
    """
    refuse_for_decoding(model)
    of_cache = {"by": "KeyValueCache", "way_out": NO_CACHE}
    _refuse_changed("model", model, Transformer, "decode", **of_cache)
    _refuse_changed("decoder", model.decoder, Decoder, "forward", **of_cache)
    for i, layer in enumerate(decoder_layers(model.decoder)):
        name = f"decoder.layers.{i}"
        _refuse_changed(name, layer, DecoderLayer, "forward", **of_cache)
        for part in ("self_attention", "cross_attention"):
            attention = getattr(layer, part)
            _refuse_changed(f"{name}.{part}", attention, MultiHeadAttention, "forward", **of_cache)


def refuse_for_fast_cache(model: Transformer) -> None:
    """Refuse a model that does not compute a step as `FastKeyValueCache` does.

    Raises:
        ValueError: If a part is overridden, is a different kind of module, has hooks, or is an
            attention of a different shape.
    """
    refuse_for_cache(model)
    of_cache = {"by": "FastKeyValueCache", "way_out": PLAIN_CACHE}
    _refuse_changed("model", model, Transformer, "embed", "logits", **of_cache)
    parts = {"embedding": model.embedding, "positions": model.positions, "dropout": model.dropout}
    for name, module in chain(parts.items(), model.decoder.named_modules(prefix="decoder")):
        module = unwrap(module)
        _refuse_unknown(name, module)
        _refuse_changed(name, module, type(module), **of_cache)
    for i, layer in enumerate(decoder_layers(model.decoder)):
        needed = (model.config.num_heads, *_widths(layer.self_attention))
        _refuse_shape(f"decoder.layers.{i}.self_attention", layer.self_attention, needed)
        _refuse_shape(f"decoder.layers.{i}.cross_attention", layer.cross_attention, needed)


def check_step(tokens: Tensor, rows: int, length: int, max_length: int) -> None:
    """Refuse a step that a decoder cannot take.

    Raises:
        ValueError: If there is not one token for each of the `rows` targets, or if the targets
            have `max_length` tokens already.
    """
    if tokens.shape != (rows,):
        raise ValueError(
            f"tokens have shape {tuple(tokens.shape)}, and there are {rows} targets; give one token for each"
        )
    if length >= max_length:
        raise ValueError(
            f"the targets have {length} tokens, and the model has {max_length} positions; "
            f"end them earlier, or build the model with a larger max_length"
        )


def _refuse_changed(
    name: str, module: nn.Module, kind: type[nn.Module], *methods: str, by: str, way_out: str
) -> None:
    for change in changes(module, kind, *methods):
        raise ValueError(f"{name} {change}, which {by} would not call; remove that, or {way_out}")


def _refuse_unknown(name: str, module: nn.Module) -> None:
    idle = name.rsplit(".")[-1] in ("dropout", "weights")
    if type(module) not in (IDLE if idle else KNOWN):
        raise ValueError(
            f"{name} is a {type(module).__name__}, and FastKeyValueCache cannot compute what that does "
            f"there; {PLAIN_CACHE}"
        )


def _widths(attention: MultiHeadAttention) -> tuple[int, int]:
    heads = attention.num_heads
    return attention.to_query.out_features // heads, attention.to_value.out_features // heads


def _refuse_shape(name: str, attention: MultiHeadAttention, needed: tuple[int, int, int]) -> None:
    actual = (attention.num_heads, *_widths(attention))
    if actual != needed:
        raise ValueError(
            f"{name} has num_heads, d_k, d_v = {actual}, and FastKeyValueCache needs {needed}, "
            f"the same in both attentions of a layer; {PLAIN_CACHE}"
        )
