"""Each exercise has a stub that its check rejects, a solution that it accepts, and a wrong answer.

A wrong answer is one that the check declares, or else the chapter's own solution with an edit, from
`wrong_answers.toml`. The code of an answer is executed with those imports, definitions, and values of its
chapter that it needs.
"""

import ast
import builtins
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.book.exercises import Verdict
from annotated_transformer.book.exercises.answers import Judged
from builder.chapters import written
from builder.source import parsed
from tests.declared import as_given

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ROOT / "annotated_transformer" / "book" / "chapters"
WRONG = tomllib.loads(Path(__file__).with_name("wrong_answers.toml").read_text("utf-8"))
DECLARED = [
    pytest.param(room, check, id=f"{room}.{name}")
    for room in WRONG
    for name, check in vars(import_module(f"annotated_transformer.book.chapters.{room}.exercises")).items()
    if isinstance(check, Judged)
]
CASES = [(room, check, words, edits) for room in WRONG for check, (words, *edits) in WRONG[room].items()]


def free(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements read and do not define."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return read - arguments - {name for node in nodes for name in defined(node)} - {*dir(builtins)}


def defined(node: ast.AST) -> set[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    stored = [part for target in getattr(node, "targets", []) for part in ast.walk(target)] or [node]
    return {part.id for part in stored if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def needed(body: list[ast.stmt], before: list[ast.stmt]) -> list[ast.stmt]:
    """Return those of the statements before some others that define what these need."""
    names, kept = free(body), []
    for node in reversed(before):
        if defined(node) & names:
            names |= free([node])
            kept.insert(0, node)
    return kept


@cache
def chapter(room: str) -> tuple[torch.dtype, dict[tuple[str, str], tuple[str, list[ast.stmt]]]]:
    """Return a chapter's type of floats, and the code of each answer with all statements before it.

    The answers have names like ("solution", "causal_mask"): the tag of the cell, and the check that it calls.
    """
    (path,) = written(ROOT, f"[0-9]*_{room}")
    text, found, before = path.read_text("utf-8"), {}, []
    for cell in parsed(text).cells:
        if cell.cell_type == "code":
            statements = ast.parse(cell.source).body
            for tag in {"exercise", "solution"} & {*cell.metadata.get("tags", [])}:
                name = ast.unparse(statements[-1].value.func)
                assert name.startswith("checks.check_"), f"{name} is no check of the chapter's room"
                found[tag, name.removeprefix("checks.check_")] = cell.source, [*before]
            before += statements
    return torch.float64 if "set_default_dtype(torch.float64)" in text else torch.float32, found


def executed(code: str, before: list[ast.stmt]) -> dict[str, Any]:
    """Execute an answer and return what it defines, and as `verdict` what its check says."""
    *body, last = ast.parse(code).body
    names: dict[str, Any] = {}
    exec(compile(ast.Module([*needed([*body, last], before), *body], []), "answer", "exec"), names)
    return names | {"verdict": eval(ast.unparse(last), names)}


def verdict(code: str, before: list[ast.stmt]) -> Verdict:
    return executed(code, before)["verdict"]


@pytest.fixture(autouse=True)
def back_to_float32() -> Iterator[None]:
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("room", "check", "words", "edits"), CASES, ids=[f"{c[0]}.{c[1]}" for c in CASES])
def test_law_a_stub_fails_the_solution_passes_and_a_wrong_answer_is_named(room, check, words, edits):
    dtype, answers = chapter(room)
    torch.set_default_dtype(dtype)
    stub = verdict(*answers["exercise", check])
    assert not stub.passed
    assert "your code stopped" not in stub.message
    code, before = answers["solution", check]
    assert verdict(code, before).passed
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert code.count(old) == 1, f"{old!r} occurs {code.count(old)} times in the solution"
        code = code.replace(old, new)
    wrong = verdict(code, before)
    assert not wrong.passed
    assert words in wrong.message


@pytest.mark.parametrize(("room", "check"), DECLARED)
def test_law_a_stub_fails_the_solution_passes_and_each_declared_mistake_is_named(room, check):
    dtype, answers = chapter(room)
    torch.set_default_dtype(dtype)
    name = check.__name__.removeprefix("check_")
    assert "is still empty" in verdict(*answers["exercise", name]).message
    assert verdict(*answers["solution", name]) == Verdict(True, check.shows)
    assert check.exported()["shows"] == check.shows  # no two mistakes collide
    for name, answer in check.asked().items():
        for gives, why in answer.named():
            assert as_given(check, {name: gives}).message.endswith(f"the answer is not {gives}. {why}")


@pytest.mark.parametrize("room", sorted(path.parent.name for path in ROOMS.glob("*/exercises.py")))
def test_law_a_rooms_checks_are_its_chapters_exercises_and_have_a_wrong_answer(room):
    tree = ast.parse((ROOMS / room / "exercises.py").read_text("utf-8"))
    checks = [node.name[6:] for node in tree.body if getattr(node, "name", "").startswith("check_")]
    _, answers = chapter(room)
    assert sorted(answers) == sorted((tag, check) for tag in ("exercise", "solution") for check in checks)
    declared = [case.values[1].__name__[6:] for case in DECLARED if case.values[0] == room]
    assert sorted([*WRONG[room], *declared]) == sorted(checks)


@pytest.mark.parametrize("room", WRONG)
def test_law_running_all_cells_overwrites_no_answer_of_the_reader(room):
    for (tag, _), (code, _) in chapter(room)[1].items():
        body = [node for node in ast.parse(code).body if not isinstance(node, ast.Import | ast.ImportFrom)]
        names = {name for node in body for name in defined(node)}
        assert tag == "exercise" or all(name.endswith("_solution") for name in names), names


@pytest.mark.equation("eq-online-softmax")
@pytest.mark.parametrize("block", [1, 3, 7, 50])
def test_oracle_attention_in_blocks_is_pytorchs(block: int):
    fused = executed(*chapter("cost_and_scale")[1]["solution", "fused"])["fused_solution"]
    rng = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(n, 5, generator=rng, dtype=torch.float64) for n in (3, 7, 7))
    wanted = F.scaled_dot_product_attention(100 * query, key, value)
    torch.testing.assert_close(fused(100 * query, key, value, block), wanted, rtol=1e-12, atol=1e-12)
