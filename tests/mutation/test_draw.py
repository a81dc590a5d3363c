"""`make mutate SAMPLE=100` draws wrong programs from the syntax tree."""

import ast

from tests.mutation.draw import changes

SOURCE = '''"""Circles."""

PI: float = 3.25


def area(radius: float, *, half: bool = False) -> float:
    """Return the area of a “circle”."""
    if radius < 0 and not half:
        raise ValueError(f"{radius - 1} is too small")
    name = "ünïcode", max(radius, 2)
    return PI * radius
'''


def test_law_each_change_is_made_at_its_place_and_never_in_an_annotation_a_docstring_or_an_f_string():
    kinds = dict[str, set[str]]()
    for change in changes("annotated_transformer/model/circle.py", SOURCE):
        kinds.setdefault(change.kind, set()).add(f"{change.old.partition(chr(10))[0]} → {change.new}")
        text, source = change.applied(SOURCE), SOURCE.encode()
        assert text == source[: change.start].decode() + change.new + source[change.end :].decode() != SOURCE
        ast.parse(text)
    assert kinds == {
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
