"""The list of mutants has one for each public function of the package."""

import ast
from collections.abc import Iterator

from tests.deliberate_bugs import MUTANTS, ROOT

PACKAGE = ROOT / "annotated_transformer"


def public_functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, set[int]]]:
    """Yield each public function or method that does something, with the numbers of its lines."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, f"{node.name}.")
        if isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__init__"):
            code = node.body[1:] if ast.get_docstring(node) else node.body
            if code:  # a method of a protocol has only a docstring
                yield prefix + node.name, set(range(node.lineno, (node.end_lineno or 0) + 1))


def lines_of(text: str, source: str) -> set[int]:
    """Return the numbers of the lines of the source where the text is."""
    first = source[: source.index(text)].count("\n") + 1
    return set(range(first, first + text.count("\n") + 1))


def without_mutant(file: str, source: str, mutants: list[dict[str, str]]) -> list[str]:
    """Return the public functions of a file that no mutant changes."""
    changed = [lines_of(mutant["old"], source) for mutant in mutants if mutant["file"] == file]
    functions = public_functions(ast.parse(source).body)
    return [f"{file}: {name}" for name, lines in functions if not any(lines & each for each in changed)]


def test_law_every_public_function_has_a_mutant():
    missing = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if not path.is_relative_to(PACKAGE / "book"):  # the book's tools are internal
            file = path.relative_to(ROOT).as_posix()
            missing += without_mutant(file, path.read_text(encoding="utf-8"), MUTANTS)
    assert missing == []


def test_law_a_public_function_without_a_mutant_is_named():
    source = '''
class Doubler:
    """Doubles."""

    def __init__(self, times):
        self.times = times

    def __call__(self, x):
        return x * self._factor()

    def _factor(self):
        return 2**self.times

class Protocol:
    def call(self): """Only documented."""

def half(x):
    """Return half of x."""
    return x / 2
'''
    changes = [{"file": "a.py", "old": "x / 2"}, {"file": "b.py", "old": "self.times = times"}]
    assert without_mutant("a.py", source, changes) == ["a.py: Doubler.__init__"]
    assert without_mutant("a.py", source, changes[1:]) == ["a.py: Doubler.__init__", "a.py: half"]
    changes.append({"file": "a.py", "old": "times\n\n    def __call__"})
    assert without_mutant("a.py", source, changes) == []
