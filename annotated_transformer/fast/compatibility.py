"""Detection of changed modules: a fast path computes a module's result without calling the module.

`overridden` and `has_hooks` find changes; the key-value caches refuse a model with a changed part that they
would not call.
"""

from itertools import chain

from torch import Tensor, nn

from annotated_transformer.model.attention import FusedAttention, ScaledDotProductAttention
from annotated_transformer.model.decoder import Decoder, DecoderLayer, decoder_layers
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.feed_forward import ACTIVATIONS, FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PostNorm, PreNorm
from annotated_transformer.model.positional_encoding import LearnedPositions, SinusoidalPositions
from annotated_transformer.model.transformer import Transformer

KNOWN = (
    *(TokenEmbedding, SinusoidalPositions, LearnedPositions, Decoder, DecoderLayer),
    *(MultiHeadAttention, ScaledDotProductAttention, FusedAttention, FeedForward),
    *(PostNorm, PreNorm, LayerNorm),
    *(nn.Linear, nn.Dropout, nn.Identity, nn.ModuleList, *ACTIVATIONS.values()),
)
IDLE = (nn.Dropout, nn.Identity)  # allowed as `dropout` and `weights`: both do nothing in evaluation
METHODS = {
    TokenEmbedding: ("forward", "logits"),
    MultiHeadAttention: ("forward", "project_query", "project_memory", "attend", "_project"),
}
NO_CACHE = "decode with NoCache, which calls decode as a whole"
PLAIN_CACHE = "decode with KeyValueCache, which calls every module"


def overridden(module: nn.Module, kind: type[nn.Module], *methods: str) -> list[str]:
    """Return the names of the methods of `kind` that a subclass or the instance `module` overrides."""
    own = vars(module)
    return [
        name
        for name in methods
        if getattr(type(module), name) is not getattr(kind, name)
        or (name in own and not getattr(own[name], "same_in_evaluation", False))
    ]


def has_hooks(module: nn.Module) -> bool:
    """Return whether a forward or backward hook is registered on `module`."""
    hooks = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"
    return any(getattr(module, name) for name in hooks)


def refuse_for_decoding(model: Transformer) -> None:
    """Refuse a model whose `forward` or `hidden` is changed: decoding calls `encode`, `decode`, and `logits`.

    Raises:
        ValueError: If one of the two is overridden, or the model has hooks.
    """
    changed = [f"{name} is overridden" for name in overridden(model, Transformer, "forward", "hidden")]
    changed += ["forward has hooks"] if has_hooks(model) else []
    if changed:
        raise ValueError(
            f"model.{changed[0]}, and decoding would not call it; override encode, decode, or logits instead"
        )


def refuse_for_cache(model: Transformer) -> None:
    """Refuse a model with a changed part that `KeyValueCache` does not call.

    The cache calls the modules inside each layer. It does not call `decode`, nor the `forward` of
    the decoder, its layers and their two attentions.

    Raises:
        ValueError: If one of these is overridden or has hooks, or the model cannot be decoded at all.
    """
    refuse_for_decoding(model)
    _refuse_overridden("model", model, Transformer, ("decode",), "KeyValueCache", NO_CACHE)
    parts: list[tuple[str, nn.Module, type[nn.Module]]] = [("decoder", model.decoder, Decoder)]
    for i, layer in enumerate(decoder_layers(model.decoder)):
        name = f"decoder.layers.{i}"
        parts.append((name, layer, DecoderLayer))
        parts.append((f"{name}.self_attention", layer.self_attention, MultiHeadAttention))
        parts.append((f"{name}.cross_attention", layer.cross_attention, MultiHeadAttention))
    for name, module, kind in parts:
        _refuse_overridden(name, module, kind, ("forward",), "KeyValueCache", NO_CACHE)
        _refuse_hooks(name, module, "KeyValueCache", NO_CACHE)


def refuse_for_fast_cache(model: Transformer) -> None:
    """Refuse a model that does not compute a step as `FastKeyValueCache` does.

    Raises:
        ValueError: If a part is overridden, is a different kind of module, has hooks, or is an
            attention of a different shape.
    """
    refuse_for_cache(model)
    _refuse_overridden("model", model, Transformer, ("embed", "logits"), "FastKeyValueCache", PLAIN_CACHE)
    parts = {"embedding": model.embedding, "positions": model.positions, "dropout": model.dropout}
    for name, module in chain(parts.items(), model.decoder.named_modules(prefix="decoder")):
        _refuse_unknown(name, module)
        methods = METHODS.get(type(module), ("forward",))
        _refuse_overridden(name, module, type(module), methods, "FastKeyValueCache", PLAIN_CACHE)
        _refuse_hooks(name, module, "FastKeyValueCache", PLAIN_CACHE)
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


def _refuse_overridden(
    name: str, module: nn.Module, kind: type[nn.Module], methods: tuple[str, ...], cache: str, way_out: str
) -> None:
    for method in overridden(module, kind, *methods):
        raise ValueError(f"{name}.{method} is overridden, and {cache} would not call it; {way_out}")


def _refuse_hooks(name: str, module: nn.Module, cache: str, way_out: str) -> None:
    if has_hooks(module):
        raise ValueError(f"{name} has hooks, and {cache} would not call them; remove them, or {way_out}")


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
    found = (attention.num_heads, *_widths(attention))
    if found != needed:
        raise ValueError(
            f"{name} has num_heads, d_k, d_v = {found}, and FastKeyValueCache needs {needed}, "
            f"the same in both attentions of a layer; {PLAIN_CACHE}"
        )
