"""What an `nn.Transformer` must be for our `Transformer` to compute the same, and its sizes."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.interop.libraries import not_carried_over
from annotated_transformer.model.plain import differences, refuse_hooks

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}
OTHER_NAMES = {torch.relu: "relu", nn.ReLU: "relu", nn.SiLU: "swish"}
STACKS = {
    "encoder": (nn.TransformerEncoder, nn.TransformerEncoderLayer),
    "decoder": (nn.TransformerDecoder, nn.TransformerDecoderLayer),
}
FREE = (  # settings that may differ: they compute nothing, or our config has them, or training alone does
    *("activation", "activation_relu_or_gelu", "batch_first", "bias", "dropout", "enable_nested_tensor"),
    *("in_proj_bias", "mask_check", "nhead", "use_nested_tensor"),
)


def read_shape(module: nn.Transformer) -> dict[str, Any]:
    """Return the fields of `TransformerConfig` that describe the layers of PyTorch's module."""
    for name, (kind, of_layer) in STACKS.items():
        _refuse_other_kind(name, stack := getattr(module, name), kind)
        for i, layer in enumerate(stack.layers):
            _refuse_other_kind(f"{name}.layers.{i}", layer, of_layer)
    first, has_norm = module.encoder.layers[0], module.encoder.norm is not None
    return {
        "num_layers": len(module.encoder.layers),
        "d_model": first.linear1.in_features,
        "d_ff": first.linear1.out_features,
        "num_heads": first.self_attn.num_heads,
        "dropout": first.dropout1.p,
        "norm": "pre" if first.norm_first else "post",
        "activation": _activation("encoder.layers.0", first.activation),
        "final_norm": None if has_norm == first.norm_first else has_norm,
    }


def refuse_differences(module: nn.Transformer, fresh: nn.Transformer) -> None:
    """Refuse a module that differs in more than its weights from a new one, `fresh`, which has our parts."""
    refuse_hooks(module, "which cannot be carried over; remove them")
    parts = dict(module.named_modules())
    for name, part in fresh.named_modules():
        if name in parts:
            _adopt_free_settings(name, part, parts[name])
    for name, difference in differences(module, fresh):
        raise not_carried_over(f"{name or 'the module'} {difference}")


def _adopt_free_settings(name: str, part: Any, theirs: Any) -> None:
    """Give a part of our shape what may differ in theirs; refuse another activation, or other dropout."""
    compared: dict[str, list[object]] = {}
    if hasattr(part, "activation"):
        compared["activation"] = [_activation(name, each.activation) for each in (theirs, part)]
    if isinstance(part, nn.Dropout) and not name.endswith(".dropout"):  # that one is inside the network
        compared["p"] = [getattr(theirs, "p", None), part.p]
    for setting, (value, ours) in compared.items():
        if value != ours:
            raise not_carried_over(f"{name} has {setting}={value!r}", f": our model needs {setting}={ours!r}")
    for setting in FREE:
        if hasattr(part, setting) and not isinstance(getattr(part, setting), nn.Dropout):
            setattr(part, setting, getattr(theirs, setting, None))


def _activation(path: str, activation: Any) -> str:
    if isinstance(activation, nn.GELU) and activation.approximate == "none":
        return "gelu"
    names = {function: name for name, function in ACTIVATIONS.items()} | OTHER_NAMES
    key = type(activation) if isinstance(activation, nn.Module) else activation
    if key not in names:
        ours = f": our model needs one of {', '.join(ACTIVATIONS)}"
        raise not_carried_over(f"{path} has the activation {activation}", ours)
    return names[key]


def _refuse_other_kind(path: str, module: nn.Module, kind: type[nn.Module]) -> None:
    if type(module) is not kind:
        ours = f": our model has the parts of nn.{kind.__name__}"
        raise not_carried_over(f"{path} is of type {type(module).__name__}", ours)
