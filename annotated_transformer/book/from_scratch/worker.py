"""What a reader's file computes, in a process of its own: this module runs as a script, by its path.

It imports nothing of the book, and answers requests that come as tensors, so that nothing in the file can
reach what judges it.
"""

import contextlib
import json
import os
import struct
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import safetensors.torch
import torch
from torch import Tensor, nn

UNTOUCHED = "your turn"  # the message of the NotImplementedError in a step that is not written yet
MORE_MEMORY = 6 * 2**30  # bytes that the file may take beside PyTorch
NAMES = "Name and shape them as asked, or write own_names; a buffer needs persistent=False."
SHOWN_LINES = 4  # of the file, in an error


def send(pipe: BinaryIO, message: object) -> None:
    """Write a message of tensors, numbers, texts, lists, and dictionaries."""
    tensors = dict[str, Tensor]()

    def packed(value: Any) -> object:
        if isinstance(value, Tensor):
            tensors[name := str(len(tensors))] = value.detach().clone().contiguous()
            return {"tensor": name}
        if isinstance(value, dict):
            return {key: packed(each) for key, each in value.items()}
        return [packed(each) for each in value] if isinstance(value, list | tuple) else value

    for data in (json.dumps(packed(message)).encode(), safetensors.torch.save(tensors)):
        pipe.write(struct.pack(">Q", len(data)) + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Read a message; nothing in it can run code.

    Raises:
        EOFError: If the other side has ended.
    """
    parts = []
    for _ in range(2):
        if len(head := pipe.read(8)) < 8:
            raise EOFError
        parts.append(pipe.read(*struct.unpack(">Q", head)))
    tensors = safetensors.torch.load(parts[1])
    return json.loads(
        parts[0], object_hook=lambda found: tensors[found["tensor"]] if "tensor" in found else found
    )


class Missing(NotImplementedError):
    """A name that the file lacks."""


class Misfit(ValueError):
    """Weights that do not fit."""


class Objects:
    """The names of a reader's file, and the modules that were made of its classes."""

    def __init__(self, names: dict[str, Any]) -> None:
        """Keep the names, such as those of a module or of a notebook."""
        self.names, self.made = names, list[nn.Module]()

    def call(self, name: str, *args: Any) -> object:
        """Call a function of the file; an argument {"made": n} is a module, {"linear": matrix} a function."""
        return _plain(self._found(name)(*map(self._own, args)))

    def make(self, name: str, sizes: list[Any], tensors: dict[str, Tensor] | None) -> int:
        """Make a module of a class, in evaluation mode, give it the weights, and return its number."""
        module = self._found(name)(*sizes)
        if tensors is not None:
            rename = self.names.get("own_names")
            _load(module, name, rename(dict(tensors)) if rename else tensors)
        self.made.append(module.double().eval())
        return len(self.made) - 1

    def apply(self, number: int, *args: Any) -> object:
        """Call a module."""
        return _plain(self.made[number](*map(self._own, args)))

    def train(self, number: int) -> None:
        """Put a module into training mode."""
        self.made[number].train()

    def gradients(self, name: str, weights: Tensor, *args: Any) -> list[Tensor]:
        """Return the gradients of (output · weights).sum() by each tensor of floating point numbers."""
        own = [arg.requires_grad_() if _is_float(arg) else arg for arg in args]
        (self._found(name)(*own) * weights).sum().backward()
        return [torch.zeros_like(arg) if arg.grad is None else arg.grad for arg in own if _is_float(arg)]

    def _found(self, name: str) -> Any:
        if name not in self.names:
            raise Missing(name)
        return self.names[name]

    def _own(self, arg: Any) -> Any:
        if isinstance(arg, dict) and "made" in arg:
            return self.made[arg["made"]]
        if isinstance(arg, dict) and "linear" in arg:
            return lambda x: x @ arg["linear"]
        return arg.clone() if isinstance(arg, Tensor) else arg


def _load(module: nn.Module, name: str, tensors: dict[str, Tensor]) -> None:
    if not isinstance(tensors, dict):
        raise Misfit(f"own_names should return a dictionary of tensors, not {type(tensors).__name__}")
    state = module.state_dict(keep_vars=True)
    known = {id(state[key]) for key in tensors if key in state}
    state = {key: w for key, w in state.items() if key in tensors or id(w) not in known}  # not what is tied
    own, given = ({key: tuple(w.shape) for key, w in d.items()} for d in (state, tensors))
    gaps = [
        f"{key}, {own.get(key, 'missing')} in yours and {given.get(key, 'missing')} in the book's"
        for key in {**given, **own}
        if own.get(key) != given.get(key)
    ]
    if gaps:
        more = f"; and {len(gaps) - SHOWN_LINES} more" if len(gaps) > SHOWN_LINES else ""
        raise Misfit(f"weights do not fit {name}: {'; '.join(gaps[:SHOWN_LINES])}{more}. {NAMES}")
    module.load_state_dict(tensors, strict=False)


def _is_float(arg: object) -> bool:
    return isinstance(arg, Tensor) and arg.is_floating_point()


def _plain(result: Any) -> object:
    """Return a result as tensors, numbers, texts, and lists of them."""
    if isinstance(result, Tensor):
        return result.detach().clone()
    if isinstance(result, int | float | str | bool | None):
        return result
    return [_plain(each) for each in result]  # a generator runs now


def described(error: BaseException, path: str) -> dict[str, Any]:
    """Return the text of an error, and the lines of the file that led to it."""
    if isinstance(error, Missing):
        return {"empty": str(error)}
    if isinstance(error, NotImplementedError) and str(error) == UNTOUCHED:
        *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
        return {"empty": innermost.f_code.co_qualname.partition(".")[0]}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    lines = [f"  line {frame.lineno}, in {frame.name}: {frame.line}" for frame in frames][-SHOWN_LINES:]
    if type(error).__name__ == "BdbQuit":
        error = RuntimeError("a debugger has no terminal here; print what you want to see")
    if isinstance(error, SyntaxError) and error.filename == path:
        lines = [f"  line {error.lineno}: {(error.text or '').strip()}"]
    reason = (str(error).splitlines() or [""])[0]
    return {"error": f"{type(error).__name__}: {reason}".rstrip(": "), "lines": lines}


def defaults() -> dict[str, str]:
    """Return what a file should leave as it is."""
    return {
        "dtype": str(torch.get_default_dtype()),
        "device": str(torch.get_default_device()),
        "gradients": str(torch.is_grad_enabled()),
        "threads": str(torch.get_num_threads()),
    }


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no limits, macOS refuses some
        import resource

        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + MORE_MEMORY,) * 2)


def _answer(objects: Objects, request: list[Any], path: str) -> dict[str, Any]:
    try:
        return {"result": getattr(objects, request[0])(*request[1:])}
    except BaseException as error:  # a file may also exit, or interrupt
        return described(error, path)


def serve(path: str, given: BinaryIO, answers: BinaryIO) -> None:
    """Import the file, say how that went, and answer requests until there are none."""
    _limit_memory()
    before, names = defaults(), dict[str, Any]()
    said: dict[str, Any] = {}
    try:
        sys.path.insert(0, str(Path(path).parent))
        names = vars(sys.modules.setdefault("readers_file", ModuleType("readers_file")))
        exec(compile(Path(path).read_bytes(), path, "exec"), names)
    except BaseException as error:
        said = described(error, path)
    changed = {name: value for name, value in defaults().items() if value != before[name]}
    send(answers, {**said, "changed": changed, "book": "annotated_transformer" in sys.modules})
    torch.set_default_dtype(torch.float64)
    objects = Objects(names)
    with contextlib.suppress(EOFError):
        while True:
            answer = _answer(objects, receive(given), path)
            send(answers, {**answer, "book": "annotated_transformer" in sys.modules})


if __name__ == "__main__":
    serve(sys.argv[1], os.fdopen(int(sys.argv[2]), "rb"), os.fdopen(int(sys.argv[3]), "wb"))
