"""`make mutate SAMPLE=100` draws wrong programs from the syntax tree, and finds the tests for each."""

import ast
from pathlib import Path

import pytest

from tests.mutation import run
from tests.mutation.draw import Change, changes, draw, still_there
from tests.mutation.sample import Record, interval, try_change

FILE = "annotated_transformer/model/circle.py"
SOURCE = '''"""Circles."""

import math

PI: float = 3.25


def area(radius: float, *, half: bool = False) -> float:
    """Return the area of a “circle”."""
    if radius < 0 and not half:
        raise ValueError(f"{radius - 1} is too small")
    name = "ünïcode", max(radius, 2)
    return PI * radius
'''


def texts(found: list[Change]) -> dict[str, set[str]]:
    """Return what replaces what, by kind."""
    kinds: dict[str, set[str]] = {}
    for change in found:
        kinds.setdefault(change.kind, set()).add(f"{change.old.partition(chr(10))[0]} → {change.new}")
    return kinds


def test_law_each_kind_of_change_is_found_and_no_annotation_docstring_or_f_string_is_changed():
    assert texts(changes(FILE, SOURCE)) == {
        "constant": {"3.25 → (6.5)", "False → (True)", "0 → (1)", "2 → (3)", "\"ünïcode\" → ('ünïcodeX')"},
        "comparison": {"radius < 0 → (radius <= 0)"},
        "operator": {
            "radius < 0 and not half → (radius < 0 or not half)", "not half → (half)",
            "PI * radius → (PI / radius)",
        },
        "arguments": {"max(radius, 2) → (max(2, radius))"},
        "returned": {"return PI * radius → return None"},
        "statement": {
            "if radius < 0 and not half: → pass", 'raise ValueError(f"{radius - 1} is too small") → pass',
            'name = "ünïcode", max(radius, 2) → pass',
        },
    }  # fmt: skip


def test_law_a_change_is_made_at_its_place_alone():
    for change in changes(FILE, SOURCE):
        text = change.applied(SOURCE)
        before, after = SOURCE.encode()[: change.start].decode(), SOURCE.encode()[change.end :].decode()
        assert text == before + change.new + after != SOURCE
        ast.parse(text)


def test_law_a_draw_depends_on_its_seed_alone_and_spreads_half_of_it_over_the_folders(tmp_path: Path):
    for name, times in {"model/circle.py": 1, "text/long.py": 9}.items():
        path = tmp_path / "annotated_transformer" / name
        path.parent.mkdir(parents=True)
        path.write_text(SOURCE * times, encoding="utf-8")
    drawn = draw(tmp_path, 20, seed=3)
    assert len(set(drawn)) == 20
    assert sum(change.file == FILE for change in drawn) >= 5
    assert drawn == draw(tmp_path, 20, seed=3) != draw(tmp_path, 20, seed=4)


def test_law_a_change_is_found_again_in_another_folder_and_on_another_line():
    before = changes(FILE, SOURCE)
    moved = changes("annotated_transformer/text/circle.py", f"\n{SOURCE.replace('radius < 0', 'radius < 1')}")
    found = still_there(before, {"": moved})
    assert {change.old.partition("\n")[0] for change in set(before) - set(found)} == {
        "radius < 0", "0", "radius < 0 and not half", "if radius < 0 and not half:",
    }  # fmt: skip
    assert all(new.line == old.line + 1 and new.new == old.new for old, new in found.items())


def test_law_the_tests_of_the_file_come_first_then_the_fastest_up_to_a_minute():
    seconds = {"a": 1.0, "b": 0.5, "tests/model/test_circle.py::slow": 40.0, "c": 30.0}
    record = Record({FILE: {13: [*seconds], 5: []}}, seconds)
    change, *_ = (change for change in changes(FILE, SOURCE) if change.line == 13)
    assert record.tests(change) == ["tests/model/test_circle.py::slow", "b", "a"]
    assert record.tests(changes(FILE, SOURCE)[0])  # outside functions: all tests of the file
    assert Record({}, {}).tests(change) == []


@pytest.mark.parametrize(
    ("status", "printed", "by"),
    [
        (0, "", ""),
        (3, "INTERNALERROR", "pytest cannot run"),
        (4, "ImportError while loading conftest", "pytest cannot run"),
    ],
)
def test_law_a_program_with_which_pytest_cannot_run_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, printed: str, by: str
):
    assert tried(tmp_path, monkeypatch, status, printed) == by


@pytest.mark.parametrize(("status", "printed"), [(4, "not found: a.py::test"), (run.WRONG_PACKAGE, "")])
def test_law_nothing_is_concluded_from_tests_that_were_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, printed: str
):
    with pytest.raises(SystemExit, match="is the record of this version"):
        tried(tmp_path, monkeypatch, status, printed)


def tried(folder: Path, monkeypatch: pytest.MonkeyPatch, status: int, printed: str) -> str:
    """Try a change in a folder, if pytest ends like this there; the file must be restored."""
    monkeypatch.chdir(folder)
    Path("printed").write_text(printed, encoding="utf-8")
    Path(FILE).parent.mkdir(parents=True)
    Path(FILE).write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr(run, "run_tests", lambda *_: run.Run(status))
    try:
        return try_change(changes(FILE, SOURCE)[0], ["a.py::test"], frozenset())
    finally:
        assert Path(FILE).read_text(encoding="utf-8") == SOURCE


def test_law_at_the_bounds_of_the_interval_the_rate_is_196_standard_errors_away():
    """This is how Wilson's interval is defined."""
    for bound in interval(99, 152):
        assert abs(99 / 152 - bound) == pytest.approx(1.96 * (bound * (1 - bound) / 152) ** 0.5)
