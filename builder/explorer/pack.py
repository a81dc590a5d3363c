"""Scripts that the explorer loads: the engine as one file, and each shipped model as a string.

A page that is opened from a file can load scripts, but it cannot fetch files or start a worker from
one. So the engine is a function, from whose source the page creates its worker, and a model is a
string in a script.
"""

import re
import zlib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import torch
from safetensors.torch import load_file, save

from annotated_transformer.book.explorer.int8 import whole_numbers_by_row
from annotated_transformer.checkpointing.checkpoint import pretrained_folder, pretrained_names

HERE = Path(__file__).parent
EXPORTED = ("serve", "Translator", "readSafetensors", "inflate")  # the tests need the last three


def engine_script() -> str:
    """Return the script that defines `transformerEngine`, a function that returns the engine's parts."""
    body, parts = join_scripts(HERE / "engine" / "worker.js"), ", ".join(EXPORTED)
    return f'"use strict";\nfunction transformerEngine() {{\n{body}\nreturn {{ {parts} }};\n}}\n'


def join_scripts(entry: Path) -> str:
    """Return a module and all that it imports as one text, in one scope, each after what it imports."""
    imports: dict[Path, list[Path]] = {}
    left = [entry]
    while left:
        path = left.pop()
        names = re.findall(r'^import [^;]*? from "([^"]+)";$', path.read_text(encoding="utf-8"), re.MULTILINE)
        imports[path] = [(path.parent / name).resolve() for name in names]
        left += [needed for needed in imports[path] if needed not in imports]
    return "\n".join(map(read_script, TopologicalSorter(imports).static_order()))


def read_script(path: Path) -> str:
    """Return a module without imports and exports, which a page opened from a file cannot load.

    Types, comments, and indentation are left out as well, since they are sent: 15 percent of the explorer.
    """
    left_out = r"^ *(?:/\*\*(?:[^*]|\*(?!/))*\*/\n|//.*\n|import [^;]*;\n|export )?"
    return re.sub(left_out, "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


@cache
def model_script(direction: str) -> bytes:
    """Return the script that hands a shipped model to the page, as a string with a character for each byte.

    This is a quarter shorter than base64. The page reads it as `x-user-defined`, which keeps all bytes apart.
    """
    escaped = {b"\\": rb"\\", b'"': rb"\"", b"\n": rb"\n", b"\r": rb"\r"}
    text = re.sub(rb'[\\"\n\r]', lambda found: escaped[found[0]], packed_model(pretrained_folder(direction)))
    return b'receiveTransformer("%b", "%b");\n' % (direction.encode(), text)


def packed_model(folder: Path) -> bytes:
    """Return a model as a compressed safetensors file, with its settings and its tokenizer as metadata.

    A matrix `x` is stored as int8, and in `x.step` a float32 step for each row, vectors in float32.
    """
    texts = {name: (folder / f"{name}.json").read_text(encoding="utf-8") for name in ("config", "tokenizer")}
    tensors = {name: weight.float() for name, weight in load_file(folder / "model.safetensors").items()}
    for name, weight in list(tensors.items()):
        if weight.dim() == 2:
            numbers, step = whole_numbers_by_row(weight)
            tensors |= {name: numbers.to(torch.int8), f"{name}.step": step[:, 0]}
    return zlib.compress(save(tensors, texts), 9)


def write_weights(folder: Path) -> None:
    """Write the engine, the client and the models into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "engine.js").write_text(engine_script() + read_script(HERE / "client.js"), encoding="utf-8")
    for direction in pretrained_names():
        (folder / f"{direction}.js").write_bytes(model_script(direction))
