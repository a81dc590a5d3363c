"""What an `nn.Transformer` must be for our `Transformer` to compute the same, and its sizes."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

EPS = 1e-5  # of our LayerNorm, and PyTorch's default
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}
OTHER_NAMES = {torch.relu: "relu", nn.ReLU: "relu", nn.SiLU: "swish"}
STACKS = {
    "encoder": (nn.TransformerEncoder, nn.TransformerEncoderLayer),
    "decoder": (nn.TransformerDecoder, nn.TransformerDecoderLayer),
}
Setting = tuple[str, Any, Any]  # its name, its value, and the value that our model needs


def read_shape(module: nn.Transformer) -> dict[str, Any]:
    """Return the fields of `TransformerConfig` that describe the layers of PyTorch's module."""
    if not isinstance(module, nn.Transformer):
        raise TypeError(
            f"from_torch takes an nn.Transformer, not {type(module).__name__}; put the stacks in one"
        )
    for name, (kind, of_layer) in STACKS.items():
        _refuse_other_kind(name, stack := getattr(module, name), kind)
        for i, layer in enumerate(stack.layers):
            _refuse_other_kind(f"{name}.layers.{i}", layer, of_layer)
    first, norms = module.encoder.layers[0], [module.encoder.norm, module.decoder.norm]
    shape = {
        "num_layers": len(module.encoder.layers),
        "d_model": first.linear1.in_features,
        "d_ff": first.linear1.out_features,
        "num_heads": first.self_attn.num_heads,
        "dropout": first.dropout1.p,
        "norm": "pre" if first.norm_first else "post",
        "activation": _activation("encoder.layers.0", first.activation),
    }
    for name in STACKS:
        stack = getattr(module, name)
        _refuse(name, ("number of layers", len(stack.layers), shape["num_layers"]))
        _refuse(name, ("norm", stack.norm is not None, norms[0] is not None))
        for i, layer in enumerate(stack.layers):
            path = f"{name}.layers.{i}"
            _refuse(path, ("norm_first", layer.norm_first, first.norm_first))
            _refuse(path, ("activation", _activation(path, layer.activation), shape["activation"]))
            for part, inside in layer.named_children():
                _refuse(f"{path}.{part}", *_settings(f"{path}.{part}", inside, shape))
        if stack.norm is not None:
            _refuse(f"{name}.norm", *_settings(f"{name}.norm", stack.norm, shape))
    final_norm = norms[0] is not None
    return shape | {"final_norm": None if final_norm == first.norm_first else final_norm}


def _settings(path: str, part: Any, shape: dict[str, Any]) -> Iterator[Setting]:
    """Yield what could differ in a part of a layer, which its name tells: norm1, self_attn, dropout2, …."""
    name = path.rpartition(".")[2]
    if name.startswith("norm"):
        _refuse_other_kind(path, part, nn.LayerNorm)
        yield "eps", part.eps, EPS
        yield "elementwise_affine", part.elementwise_affine, True
    elif name.endswith("attn"):
        _refuse_other_kind(path, part, nn.MultiheadAttention)
        yield "num_heads", part.num_heads, shape["num_heads"]
        yield "kdim", part.kdim, part.embed_dim
        yield "vdim", part.vdim, part.embed_dim
        yield "add_bias_kv", part.bias_k is not None, False
        yield "add_zero_attn", part.add_zero_attn, False
    elif name == "linear1":
        yield "in_features", part.in_features, shape["d_model"]
        yield "out_features", part.out_features, shape["d_ff"]
    elif name.startswith("dropout") and name != "dropout":  # that one is inside the feed-forward network
        yield "p", part.p, shape["dropout"]


def _activation(path: str, activation: Any) -> str:
    if isinstance(activation, nn.GELU) and activation.approximate == "none":
        return "gelu"
    known = {function: ours for ours, function in ACTIVATIONS.items()} | OTHER_NAMES
    key = type(activation) if isinstance(activation, nn.Module) else activation
    if key not in known:
        raise _refusal(path, f"the activation {activation}", f"one of {', '.join(ACTIVATIONS)}")
    return known[key]


def _refuse(path: str, *settings: Setting) -> None:
    for name, value, needed in settings:
        if value != needed:
            raise _refusal(path, f"{name}={value!r}", f"{name}={needed!r}")


def _refuse_other_kind(path: str, module: nn.Module, kind: type[nn.Module]) -> None:
    if type(module) is not kind:
        raise ValueError(
            f"{path} is of type {type(module).__name__}, which cannot be carried over: our model has the "
            f"parts of nn.{kind.__name__}"
        )


def _refusal(path: str, has: str, needed: str) -> ValueError:
    return ValueError(f"{path} has {has}, which cannot be carried over: our model needs {needed}")
