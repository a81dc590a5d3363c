"""Arguments of another kind than the annotations of a function: refused by name, with what to give instead.

Most of them would otherwise end far from the call, as in `'dict' object has no attribute 'd_model'`.
Nothing here imports PyTorch.
"""

import inspect
import os
from collections.abc import Callable, Sequence
from functools import cache, wraps
from numbers import Real
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

T = TypeVar("T", bound=Callable[..., Any])
WIDER: dict[Any, Any] = {int: Real, float: Real, list: (list, tuple), tuple: (list, tuple), Path: os.PathLike}
WORDS: dict[Any, str] = {Callable: "a function", NoneType: "None", int: "a number", float: "a number"}
WAYS_OUT = {  # of arguments whose kind alone does not say it
    "decoder": "give what makes one, such as KeyValueCache",
    "length_penalty": "give a function of lengths, such as GnmtLength(0.6)",
    "logits_processors": "give a list of them, such as [Temperature(0.7), TopK(10)]",
    "model": "give the one inside a wrapper, or derive your own from TrainableModel",
    "pairs": "give a list, such as encode_pairs(…) or list(…) returns; batches are made from it",
    "run_directory": "give RunDirectory(folder)",
    "src": "give a batch of ids, such as torch.tensor([[…], …])",
    "texts": "give a list of strings, such as [text], or text.decode('utf-8') for bytes",
}


def refuses_other_kinds(code: T) -> T:
    """Decorate a function, or a class with an `__init__`, which then refuses arguments of another kind.

    Of a list, that includes what it holds. Which numbers a function takes, it checks itself.
    """
    if isinstance(code, type):
        code.__init__ = refuses_other_kinds(code.__init__)  # type: ignore[misc]
        return code
    signature, name = inspect.signature(code), code.__qualname__.removesuffix(".__init__")

    @cache
    def hints() -> dict[str, Any]:  # called late, when the names in the annotations exist
        of_each = get_type_hints(code)
        several = [name for name, one in signature.parameters.items() if one.kind is one.VAR_POSITIONAL]
        return of_each | {name: GenericAlias(list, (of_each[name],)) for name in several}

    @wraps(code)
    def checked(*inputs: Any, **options: Any) -> Any:
        try:
            arguments = signature.bind_partial(*inputs, **options).arguments
        except TypeError:
            return code(*inputs, **options)  # Python's own error names what is unknown
        for argument, value in arguments.items():
            kind = _fitting(name, argument, value, hints().get(argument, Any))
            if get_origin(kind) in (list, Sequence):
                for place, part in enumerate(value):
                    _fitting(name, f"{argument}[{place}]", part, get_args(kind)[0])
        return code(*inputs, **options)

    return checked  # type: ignore[return-value]


def _fitting(name: str, argument: str, value: Any, hint: Any) -> Any:
    """Return the kind of an argument, of those that its annotation allows; refuse another."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    modules = getattr(value, "_modules", None)
    module = modules.get("_orig_mod", value) if isinstance(modules, dict) else value  # if it is compiled
    for kind in kinds:
        known, parts = _class(kind), get_args(kind)
        if not isinstance(module, WIDER.get(known, known)):
            continue
        if known is not tuple or ... in parts or len(value) == len(parts):
            return kind
    raise TypeError(_message(name, argument, value, kinds))


def _class(kind: Any) -> Any:
    """Return the class of an annotation, without the shape of a tensor, or `object` if it allows anything."""
    if kind is Any or isinstance(kind, TypeVar) or get_origin(kind) is Literal or is_typeddict(kind):
        return object
    return getattr(kind, "array_type", get_origin(kind) or kind)


def _message(name: str, argument: str, value: Any, kinds: Sequence[Any]) -> str:
    words = []
    for kind in kinds:
        word = "nn." * _class(kind).__module__.startswith("torch.nn") + _class(kind).__name__
        word = f"tuple of {len(get_args(kind))}" if word == "tuple" else word
        words.append(WORDS.get(_class(kind)) or f"{'an' if word[0] in 'AEIOUn' else 'a'} {word}")
    actual = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
    actual += f" of {len(value)}" if isinstance(value, list | tuple) else ""
    way_out = (
        f"give {_class(kinds[0]).__name__}(**{argument})" if isinstance(value, dict) else f"give {words[0]}"
    )
    way_out = WAYS_OUT.get(argument.partition("[")[0], way_out)
    return f"{name} takes {' or '.join(dict.fromkeys(words))}, not {actual}, as {argument}; {way_out}"
