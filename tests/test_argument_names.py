"""Messages name arguments as in Python, or as their caller does, and no library text names an option."""

import ast
import copy
import pickle
import re
import warnings
from pathlib import Path

import pytest

from annotated_transformer.argument_names import Message, argument, join

FOLDER = Path(__file__).parents[1] / "annotated_transformer"
AN_OPTION = r"(?<![\w-])--[a-z]"


def in_brackets(name: str, *value: object) -> str:
    return f"<{name}{''.join(map(str, value))}>"


def test_law_arguments_are_named_as_in_python_or_by_the_caller():
    inner = Message("{k}, not {!r}", "{p}", k=3)
    message = Message("{p} of {}: {} {}; give {k}", "{k} = {", inner, 7, p="a")
    assert message == "p='a' of {k} = {: k=3, not '{p}' 7; give k"
    assert message.named(in_brackets) == "<pa> of {k} = {: <k3>, not '{p}' 7; give <k>"
    both = join(", ", [argument("p", None), "p=1", argument("k")])
    assert both == "p=None, p=1, k"
    assert both.named(in_brackets) == "<pNone>, p=1, <k>"


@pytest.mark.filterwarnings("always")
def test_law_copies_and_errors_and_warnings_keep_the_arguments():
    message = Message("{k} is {}", "}", k=3)
    error = pickle.loads(pickle.dumps(ValueError(message)))
    assert str(error) == "k=3 is }"
    with warnings.catch_warnings(record=True) as caught:
        warnings.warn(message, stacklevel=1)
    for text in (error.args[0], copy.deepcopy(message), caught[0].message.args[0]):
        assert text.named(in_brackets) == "<k3> is }"


def texts_that_name_options(source: str) -> list[str]:
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and re.search(AN_OPTION, text)]


def test_law_no_text_outside_the_command_line_names_an_option():
    """Except for the book, which shows commands, and whose CSS and palette have variables."""
    above = {FOLDER / name for name in ("book", "commands", "plotting/palette.py", "__main__.py")}
    files = [path for path in FOLDER.rglob("*.py") if not above & {path, *path.parents}]
    found = {path.name: texts_that_name_options(path.read_text("utf-8")) for path in files}
    assert {name: texts for name, texts in found.items() if texts} == {}
    assert texts_that_name_options('f"leave out --bf16 ({x})"') == ["leave out --bf16 ("]
