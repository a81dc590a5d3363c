"""What an `nn.Transformer` must be for our `Transformer` to compute the same, and its sizes."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

EPS = 1e-5  # of our LayerNorm, and PyTorch's default
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}
OTHER_NAMES = {torch.relu: "relu", nn.ReLU: "relu", nn.SiLU: "swish"}


def read_shape(module: nn.Transformer) -> dict[str, Any]:
    """Return the fields of `TransformerConfig` that describe the layers of PyTorch's module."""
    if not isinstance(module, nn.Transformer):
        raise TypeError(
            f"from_torch takes an nn.Transformer, not {type(module).__name__}; put the stacks in one"
        )
    stacks = {"encoder": nn.TransformerEncoder, "decoder": nn.TransformerDecoder}
    for name, kind in stacks.items():
        _refuse_other_kind(name, getattr(module, name), kind)
    encoder, decoder = module.encoder.layers, module.decoder.layers
    if len(encoder) != len(decoder):
        raise _refusal(
            "the decoder", f"{len(decoder)} layers, and the encoder {len(encoder)}", "equal numbers"
        )
    shapes = [
        *((f"encoder.layers.{i}", _layer_shape(f"encoder.layers.{i}", x)) for i, x in enumerate(encoder)),
        *((f"decoder.layers.{i}", _layer_shape(f"decoder.layers.{i}", x)) for i, x in enumerate(decoder)),
    ]
    first, shape = shapes[0]
    for name, other in shapes:
        for field, value in other.items():
            if value != shape[field]:
                has = f"{field}={value!r}, and {first} {shape[field]!r}"
                raise _refusal(name, has, "the same in each layer")
    return shape | {"num_layers": len(encoder), "final_norm": _final_norm(module, shape["norm"])}


def _layer_shape(name: str, layer: Any) -> dict[str, Any]:
    kind = nn.TransformerEncoderLayer if name.startswith("encoder") else nn.TransformerDecoderLayer
    _refuse_other_kind(name, layer, kind)
    for part, norm in _named(layer, "norm"):
        _refuse_other_norm(f"{name}.{part}", norm)
    heads = set()
    for part, attention in _named(layer, "attn"):
        heads.add(_checked_attention(f"{name}.{part}", attention).num_heads)
    if len(heads) > 1:
        raise _refusal(name, f"attentions with {sorted(heads)} heads", "the same number in both")
    dropouts = {dropout.p for part, dropout in _named(layer, "dropout") if part != "dropout"}
    if len(dropouts) > 1:
        raise _refusal(name, f"the dropouts {sorted(dropouts)}", "one dropout for all sub-layers")
    return {
        "d_model": layer.linear1.in_features,
        "d_ff": layer.linear1.out_features,
        "num_heads": heads.pop(),
        "dropout": dropouts.pop(),
        "norm": "pre" if layer.norm_first else "post",
        "activation": _activation(name, layer.activation),
    }


def _named(layer: nn.Module, kind: str) -> Iterator[tuple[str, Any]]:
    """Yield the sub-modules whose names contain `kind`: norm1, self_attn, dropout2, and so on."""
    return ((name, module) for name, module in layer.named_children() if kind in name)


def _activation(name: str, activation: Any) -> str:
    if isinstance(activation, nn.GELU) and activation.approximate == "none":
        return "gelu"
    known = {function: ours for ours, function in ACTIVATIONS.items()} | OTHER_NAMES
    key = type(activation) if isinstance(activation, nn.Module) else activation
    if key not in known:
        raise _refusal(name, f"the activation {activation}", f"one of {', '.join(ACTIVATIONS)}")
    return known[key]


def _checked_attention(name: str, attention: Any) -> Any:
    _refuse_other_kind(name, attention, nn.MultiheadAttention)
    if attention.in_proj_weight is None:
        has = f"kdim={attention.kdim} and vdim={attention.vdim}"
        raise _refusal(name, has, f"keys and values of embed_dim={attention.embed_dim} features")
    if attention.bias_k is not None or attention.bias_v is not None:
        raise _refusal(name, "add_bias_kv=True", "no additional key and value")
    if attention.add_zero_attn:
        raise _refusal(name, "add_zero_attn=True", "no additional key and value")
    return attention


def _final_norm(module: nn.Transformer, norm: str) -> bool | None:
    """Return whether there are final norms; `None` if that is the default for such layers."""
    norms = {name: getattr(module, name).norm for name in ("encoder", "decoder")}
    missing = [name for name, final in norms.items() if final is None]
    if len(missing) == 1:
        raise _refusal(f"{missing[0]}.norm", "nothing, and the other stack has a norm", "both, or neither")
    for name, final in norms.items():
        if final is not None:
            _refuse_other_norm(f"{name}.norm", final)
    return None if (not missing) == (norm == "pre") else not missing


def _refuse_other_norm(name: str, norm: nn.Module) -> None:
    _refuse_other_kind(name, norm, nn.LayerNorm)
    if norm.eps != EPS:
        raise _refusal(name, f"eps={norm.eps:g}", f"eps={EPS:g}")
    if norm.weight is None:
        raise _refusal(name, "elementwise_affine=False", "a weight")


def _refuse_other_kind(name: str, module: nn.Module, kind: type[nn.Module]) -> None:
    if type(module) is not kind:
        raise ValueError(
            f"{name} is of type {type(module).__name__}, which cannot be carried over: our model has the "
            f"parts of nn.{kind.__name__}"
        )


def _refusal(name: str, has: str, needed: str) -> ValueError:
    return ValueError(f"{name} has {has}, which cannot be carried over: our model needs {needed}")
