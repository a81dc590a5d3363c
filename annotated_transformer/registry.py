"""The parts of a model that a config can name, and attentions of your own: *Models and parts of your own*.

Nothing here imports PyTorch.
"""

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, TypeVar

PARTS = {  # by the field of a config that names them, and where each is found; to add one, add a line
    "norm": {
        "post": "annotated_transformer.model.normalization:PostNorm",
        "pre": "annotated_transformer.model.normalization:PreNorm",
    },
    "activation": {
        "relu": "torch.nn:ReLU",
        "gelu": "torch.nn:GELU",
        "swish": "torch.nn:SiLU",
    },
    "positions": {
        "sinusoidal": "annotated_transformer.model.positional_encoding:SinusoidalPositions",
        "learned": "annotated_transformer.model.positional_encoding:LearnedPositions",
    },
    "attention": {
        "scaled_dot_product": "annotated_transformer.model.attention:ScaledDotProductAttention",
        "fused": "annotated_transformer.model.attention:FusedAttention",
    },
}
T = TypeVar("T", bound=Callable[..., Any])
_attentions: dict[str, Callable[..., Any]] = {}


def part_names(field: str) -> list[str]:
    """Return the names that a field of a config can have, or none if the field names no part."""
    return [*PARTS.get(field, ()), *(_attentions if field == "attention" else ())]


def find_part(field: str, name: str) -> Any:
    """Return the class of one of the package's own parts, such as that of `("norm", "post")`."""
    return resolve_name(PARTS[field][name])


def register_attention(name: str) -> Callable[[T], T]:
    """Return a decorator that gives an attention a name, for `TransformerConfig(attention=name)`.

    It decorates a function that a `Transformer` calls for each attention that it builds, with two arguments:
    its config, and the place, which is `"encoder"`, `"decoder"` (masked self-attention), or `"cross"`. The
    function returns a module with the call of `MultiHeadAttention`: `(query, key, value, mask)`.

    A name stands for one function. A function with the same name in the same module replaces it, so that a
    notebook's cell can run again.

    Raises:
        ValueError: If the name is taken.
    """
    if not isinstance(name, str) or not name or name in PARTS["attention"]:
        raise ValueError(
            f"an attention cannot be registered as {name!r}; choose another name than "
            f"{tuple(PARTS['attention'])}"
        )

    def register(make: T) -> T:
        if not (callable(make) and hasattr(make, "__qualname__")):
            raise TypeError(f"{make!r} is not a function of a config and a place; decorate one")
        known = _attentions.get(name)
        if known is not None and code_name(known) != code_name(make):
            raise ValueError(
                f"{name!r} is the attention of {code_name(known)} already; choose another name for that of "
                f"{code_name(make)}"
            )
        _attentions[name] = make
        return make

    return register


def registered_attentions() -> Mapping[str, Callable[..., Any]]:
    """Return the functions that were registered, by name."""
    return MappingProxyType(_attentions)


def code_name(code: Any) -> str:
    """Return the module and the name of a function or a class, such as `my_parts.relative`."""
    return f"{code.__module__}.{code.__qualname__}"
