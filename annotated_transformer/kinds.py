"""Arguments of another kind than the annotations of a function: refused by name, with what to give instead.

Most of them would otherwise end far from the call, as in `'dict' object has no attribute 'd_model'`.
Nothing here imports PyTorch.
"""

import inspect
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import is_dataclass
from functools import cache, wraps
from numbers import Real
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from annotated_transformer.whole_numbers import whole_number

T = TypeVar("T", bound=Callable[..., Any])
WIDER: dict[Any, Any] = {int: Real, float: Real, list: (list, tuple), tuple: (list, tuple), Path: os.PathLike}
WORDS: dict[Any, str] = {Callable: "a function", NoneType: "None", int: "a number", float: "a number"}
WORDS |= {str: "a string"} | dict.fromkeys((list[str], Iterable[str]), "a list of strings")
WAYS_OUT = {  # of arguments, and of kinds, where the kind alone does not say it
    "TrainableModel": "give the one inside a wrapper, or derive your own from TrainableModel",
    "decoder": "give what makes one, such as KeyValueCache",
    "length_penalty": "give a function of lengths, such as GnmtLength(0.6)",
    "logits_processors": "give a list of them, such as [Temperature(0.7), TopK(10)]",
    "pairs": "give a list, such as encode_pairs(…) or list(…) returns; batches are made from it",
    "run_directory": "give RunDirectory(folder)",
    "src": "give a batch of ids, such as torch.tensor([[…], …])",
    "texts": "give a list of strings, such as [text], or text.decode('utf-8') for bytes",
}
LISTS = list, Sequence, Iterable
_THREAD = threading.local()  # `inside` is True in a checked call


def refuses_other_kinds(code: T) -> T:
    """Decorate a function, or a class with an `__init__`, which then refuses arguments of another kind.

    What a list holds is checked, too. Calls inside of a checked one are not checked again. Which numbers a
    function takes, it checks itself.
    """
    if isinstance(code, type):
        code.__init__ = refuses_other_kinds(code.__init__)  # type: ignore[misc]
        return code
    signature = inspect.signature(code)

    @cache
    def hints() -> dict[str, Any]:  # called late, when the names in the annotations exist
        of_each = get_type_hints(code)
        several = [name for name, one in signature.parameters.items() if one.kind is one.VAR_POSITIONAL]
        return of_each | {name: GenericAlias(list, (of_each[name],)) for name in several}

    @wraps(code)
    def checked(*inputs: Any, **options: Any) -> Any:
        if getattr(_THREAD, "inside", False):
            return code(*inputs, **options)
        try:
            arguments = signature.bind_partial(*inputs, **options).arguments
        except TypeError:
            return code(*inputs, **options)  # Python's own error names what is unknown
        for argument, value in arguments.items():
            kind = _check_kind(code, argument, value, hints().get(argument, Any))
            if get_origin(kind) in LISTS and isinstance(value, list | tuple):
                for place, part in enumerate(value):
                    _check_kind(code, f"{argument}[{place}]", part, get_args(kind)[0])
        _THREAD.inside = True
        try:
            return code(*inputs, **options)
        finally:
            _THREAD.inside = False

    return checked  # type: ignore[return-value]


def _check_kind(code: Callable[..., Any], argument: str, value: Any, hint: Any) -> Any:
    """Return the kind of an argument, of those that its annotation allows; refuse another."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    modules = getattr(value, "_modules", None)
    module = modules.get("_orig_mod", value) if isinstance(modules, dict) else value  # if it is compiled
    for kind in kinds:
        allowed, parts = _class(kind), get_args(kind)
        is_whole = allowed is int and whole_number(value) is not None
        if not (is_whole or isinstance(module, WIDER.get(allowed, allowed))):
            continue
        if allowed in LISTS and isinstance(value, str | bytes):
            continue
        if allowed is not tuple or ... in parts or len(value) == len(parts):
            return kind
    raise TypeError(_message(code, argument, value, kinds))


def _class(kind: Any) -> Any:
    """Return the class of an annotation, without the shape of a tensor, or `object` if it allows anything."""
    if kind is Any or isinstance(kind, TypeVar) or get_origin(kind) is Literal or is_typeddict(kind):
        return object
    return getattr(kind, "array_type", get_origin(kind) or kind)


def _message(code: Callable[..., Any], argument: str, value: Any, kinds: Sequence[Any]) -> str:
    words = []
    for kind in kinds:
        word = "nn." * _class(kind).__module__.startswith("torch.nn") + _class(kind).__name__
        word = f"tuple of {len(get_args(kind))}" if word == "tuple" else word
        word = f"{'an' if word[0] in 'AEIOUn' else 'a'} {word}"
        words.append(WORDS.get(kind) or WORDS.get(_class(kind)) or word)
    actual = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
    actual += f" of {len(value)}" if isinstance(value, list | tuple) else ""
    way_out = f"give {words[0]}"
    for key in (argument.partition("[")[0], *(_class(kind).__name__ for kind in kinds)):
        way_out = WAYS_OUT.get(key, way_out)
    if isinstance(value, dict) and is_dataclass(_class(kinds[0])):
        way_out = f"give {_class(kinds[0]).__name__}(**{argument})"
    if (other := actual.lower()) != argument and other in inspect.signature(code).parameters:
        way_out = f"give it as {other}"
    name, words = code.__qualname__.removesuffix(".__init__"), list(dict.fromkeys(words))
    return f"{name}: argument {argument} must be {' or '.join(words)}, not {actual}; {way_out}"
