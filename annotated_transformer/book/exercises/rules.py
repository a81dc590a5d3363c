"""What an exercise rules out, such as this package: found by the names that the reader's functions use."""

import dis
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

from annotated_transformer.book.exercises.verdict import expect

PACKAGE = "annotated_transformer"


def expect_without(answer: object, *forbidden: str) -> None:
    """Stop the check if the reader's function, or one that it calls, uses what is `forbidden`.

    A dotted name or a module's name forbids what comes from there, and its last part is also forbidden as an
    attribute: "torch.nn" covers `F.relu`, `nn.Linear` and `torch.nn`, "softmax" covers `scores.softmax(-1)`.
    """
    for name, origin in _uses(inspect.unwrap(answer) if callable(answer) else answer, set()):
        for rule in forbidden:
            from_there = origin == rule or origin.startswith(f"{rule}.")
            where = f" from {rule}" if origin != rule and from_there else ""
            used = (name or origin.rpartition(".")[2]) + where
            allowed = not from_there and name != rule.rpartition(".")[2]
            expect(allowed, f"your answer uses {used}, which this exercise rules out.")


def _uses(function: object, seen: set[object]) -> Iterator[tuple[str, str]]:
    """Yield what a function names and where that comes from ("" for an attribute), itself first."""
    yield "", _origin(function)
    if not isinstance(function, FunctionType) or function in seen:
        return
    seen.add(function)
    inner = inspect.getclosurevars(function).nonlocals
    for name, namespace in _names(function.__code__):
        if namespace == "enclosing" and name not in inner:
            continue  # the function's own variable, which a comprehension reads
        value = {"global": function.__globals__, "enclosing": inner}.get(namespace, {}).get(name)
        if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            yield from _uses(value, seen)
        else:
            yield name, _origin(value)


def _names(code: CodeType) -> Iterator[tuple[str, str]]:
    """Yield the names in a function and those inside it, and where each is looked up ("": an attribute)."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(step.argval), "global"
        elif step.opname == "LOAD_DEREF":
            yield str(step.argval), "enclosing"
        elif step.opname.startswith(("LOAD_ATTR", "LOAD_METHOD", "IMPORT_")):
            yield str(step.argval).partition(".")[0], ""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _origin(value: object) -> str:
    """Return the full name of a module, a function, a class, or the class of an object."""
    if isinstance(value, ModuleType):
        return value.__name__
    module = getattr(value, "__module__", None)
    return f"{module}.{getattr(value, '__qualname__', type(value).__qualname__)}" if module else ""
