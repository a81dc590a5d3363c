"""A check calls the reader's function with the shapes that the exercise's cell promises.

The cell of an exercise says so in the function's docstring, with the shapes of the results after an arrow:

    def my_average(states, scores):
        \"\"\"states (tokens, s), scores (outputs, tokens) -> (outputs, s)\"\"\"

The same name stands for the same size throughout a call, also that of an argument, and `...` for any leading
axes. The calls are those that the checks make to the right answers of their tests.
"""

import ast
import re
from collections import defaultdict
from functools import cache, wraps
from itertools import combinations
from pathlib import Path

import pytest
from torch import Tensor, nn

from builder.chapters import parsed, written
from tests.answers import each_call
from tests.solutions import answers_of, as_on_its_page

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {path.stem: path for path in written(ROOT, "[0-9]*")}
TESTS = sorted((Path(__file__).parent / "chapters").glob("*/test_exercises*.py"))
NAME = re.compile(r"[A-Za-z_]\w*")


def promise(docstring):
    """Return the axes of the arguments by their names, and those of the results in order."""
    given, _, returned = docstring.partition("->")
    arguments = {}
    for names, axes in re.findall(r"((?:\w+, )*\w+) \[?\(([^()]*)\)", given):
        arguments |= dict.fromkeys(names.split(", "), split(axes))
    return arguments, [split(axes) for axes in re.findall(r"\(([^()]*)\)", returned)]


def split(axes):
    """Return the axes in a pair of parentheses as a tuple."""
    return tuple(axis.strip() for axis in axes.split(",") if axis.strip())


def fits(axes, shape, sizes):
    """Return whether a shape has the axes that were promised; `sizes` learns the sizes of their names."""
    if axes[:1] == ("...",):
        axes = axes[1:]
        shape = shape[max(0, len(shape) - len(axes)) :]
    if len(axes) != len(shape):
        return False
    for axis, size in zip(axes, shape, strict=True):
        if set(NAME.findall(axis)) <= sizes.keys():
            wanted = eval(axis, {"__builtins__": {}}, sizes)
        else:
            wanted = sizes.setdefault(axis, size)
        if wanted != size:
            return False
    return True


@cache
def starters():
    """Return the functions of exercises' cells that checks receive: {"masking.check_reads": [reads]}."""
    found = {}
    for path in SOURCES.values():
        text = path.read_text("utf-8")
        module = re.search(r"book\.chapters\.(\w+) import [(\w\s,]*?exercises as checks", text)[1]
        for cell in parsed(text).cells:
            if "exercise" not in cell.metadata.get("tags", []):
                continue
            tree = ast.parse(cell.source)
            functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
            call = tree.body[-1].value
            given = [functions.get(ast.unparse(argument)) for argument in call.args]
            found[f"{module}.{call.func.attr}"] = given
    return found


def recorded(answer, calls):
    if not callable(answer) or isinstance(answer, nn.Module):
        return answer

    @wraps(answer)
    def recording(*arguments):
        result = answer(*arguments)
        calls.append((arguments, result))
        return result

    return recording


def complaints(starter, calls):
    """Report calls that break the promise in the docstring of the function in the exercise's cell."""
    names = [argument.arg for argument in starter.args.args]
    arguments, results = promise(ast.get_docstring(starter) or "")
    yield from (f"{name} is promised, but not an argument" for name in arguments.keys() - set(names))
    ranks, apart, together = defaultdict(set), set(), set()
    for given, result in calls:
        whole = zip(names, given, strict=True)
        sizes = {name: value for name, value in whole if type(value) is int}
        for name, value in zip(names, given, strict=True):
            for tensor in value if isinstance(value, list) else [value]:
                if not isinstance(tensor, Tensor):
                    continue
                shape = tuple(tensor.shape)
                ranks[name].add(len(shape))
                if name not in arguments:
                    yield f"{name} has shape {shape}, and none is promised"
                elif not fits(arguments[name], shape, sizes):
                    yield f"{name} has shape {shape}, not {arguments[name]} with {sizes}"
        returned = list(result) if isinstance(result, list | tuple) else [result]
        for axes, part in zip(results, returned, strict=False):  # a number has no axes, and lists are free
            shape = tuple(part.shape) if isinstance(part, Tensor) else ()
            if not isinstance(part, list) and not fits(axes, shape, sizes):
                yield f"a result has shape {shape}, not {axes} with {sizes}"
        for axes in arguments.values():
            pairs = {frozenset(pair) for pair in combinations(axes, 2) if {*pair} <= sizes.keys()}
            together |= pairs
            apart |= {pair for pair in pairs if len({sizes[name] for name in pair}) == len(pair)}
    for name, axes in arguments.items():
        if axes[:1] == ("...",) and len(ranks[name]) < 2:
            yield f"{name} has the leading axes of one call only"
    for pair in together - apart:
        if len(pair) == 2:
            yield f"{' and '.join(sorted(pair))} are equal in each call"


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.parent.name)
def test_law_a_check_calls_an_answer_with_the_shapes_that_its_exercise_promises(path):
    found = []
    for check, *answers in each_call(answers_of(path)[0]):
        name = f"{check.__module__.split('.')[-2]}.{check.__name__}"
        calls = [[] for _ in answers]
        with as_on_its_page(path):
            assert check(*map(recorded, answers, calls))
        for starter, made in zip(starters()[name], calls, strict=True):
            if starter is not None:
                assert made, f"{name} does not call {starter.name}"
                found += [f"{name}: {starter.name}: {fault}" for fault in complaints(starter, made)]
    assert list(dict.fromkeys(found)) == []


def test_law_each_check_has_its_functions_from_a_cell():
    functions = [function for given in starters().values() for function in given if function]
    assert len(starters()) > 100
    assert sum(bool(promise(ast.get_docstring(function) or "")[0]) for function in functions) > 50


def tensor(*shape):
    """Return a tensor that holds nothing but its shape."""
    return Tensor(*shape) if shape else Tensor().sum()


def test_law_a_broken_promise_is_named():
    (loss,) = ast.parse(
        "def loss(logits, labels, pad_id):\n"
        '    """logits (batch, tokens, classes), labels (batch, tokens) -> ()"""'
    ).body
    good = (tensor(2, 3, 5), tensor(2, 3), 0), tensor()
    assert list(complaints(loss, [good])) == []
    two = (tensor(3, 5), tensor(3), 0), tensor()
    assert next(complaints(loss, [two])).startswith(
        "logits has shape (3, 5), not ('batch', 'tokens', 'classes')"
    )
    turned = (tensor(2, 3, 5), tensor(3, 2), 0), tensor()
    assert next(complaints(loss, [good, turned])).startswith(
        "labels has shape (3, 2), not ('batch', 'tokens')"
    )
    one = (tensor(2, 3, 5), tensor(2, 3), 0), tensor(2)
    assert next(complaints(loss, [one])).startswith("a result has shape (2,), not ()")
    square = (tensor(3, 3, 5), tensor(3, 3), 0), tensor()
    assert list(complaints(loss, [square])) == ["batch and tokens are equal in each call"]
    assert list(complaints(loss, [square, good])) == []

    (silent,) = ast.parse('def silent(x):\n    """y (...)"""').body
    assert list(complaints(silent, [((tensor(2),), tensor(2))])) == [
        "y is promised, but not an argument",
        "x has shape (2,), and none is promised",
        "y has the leading axes of one call only",
    ]
    (leading,) = ast.parse(
        'def leading(x, n):\n    """x (..., n, 2 * n), maps [(n, n), ...] -> (..., n)"""'
    ).body
    calls = [((tensor(*batch, 3, 6), 3), tensor(*batch, 3)) for batch in ((), (5,))]
    assert list(complaints(leading, calls)) == ["maps is promised, but not an argument"]
    assert "x has shape (6, 3), not" in next(
        fault for fault in complaints(leading, [((tensor(6, 3), 3), tensor(3))]) if "x" in fault
    )
