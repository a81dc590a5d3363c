"""Displayed equations for wide screens and for phones, both made from the chapter's one formula.

The chapters write equations for the narrowest screen. A wide page joins what was broken for it: a row that
ends in an equals sign, and rows that name the spaces of symbols. A phone breaks what is still too wide.
"""

import re
from collections.abc import Callable, Iterator

WIDE = 31  # em of a formula that fits beside its number on a wide page
PHONE = 20  # em of a formula that fits on a phone
PIECE = re.compile(r"(\\begin\{\w+\}|\\end\{\w+\}|\\\\(?:\[[^\]]*\])?)")
GATHERED = re.compile(r"\s*\\begin\{gathered\}(.*)\\end\{gathered\}\s*", re.DOTALL)
ALIGNED = re.compile(r"\\begin\{aligned\}((?:(?!\\begin).)*?)\\end\{aligned\}", re.DOTALL)


def rows(tex: str) -> Iterator[tuple[str, str]]:
    """Yield each row of a formula and the line break behind it; environments within a row stay whole."""
    row, depth = "", 0
    for piece in PIECE.split(tex):
        depth += piece.startswith(r"\begin") - piece.startswith(r"\end")
        if depth == 0 and piece.startswith(r"\\"):
            yield row.strip(), piece
            row = ""
        else:
            row += piece
    yield row.strip(), ""


def names_space(row: str) -> bool:
    r"""Return whether a row only names spaces: `K, V \in \mathbb{R}^{m \times d}`."""
    return r"\in" in row and not re.search(r"=|\\begin", row)


def in_one_column(block: re.Match[str]) -> str:
    """Return an aligned block of spaces as rows, and any other block as it is."""
    cells = [cell for row, _ in rows(block[1]) for cell in re.split(r"&(?!\s*\\in\b)", row)]
    cells = [cell.replace("&", "").strip() for cell in cells if cell.strip()]
    return r"\\".join(cells) if all(map(names_space, cells)) else block[0]


def for_wide(tex: str, width: Callable[[str], float]) -> str:
    """Join the rows of a `gathered` formula that belong together, as far as `WIDE` allows."""
    gathered = GATHERED.fullmatch(tex)
    if not gathered:
        return tex
    joined: list[tuple[str, str]] = []
    for row, end in rows(ALIGNED.sub(in_one_column, gathered[1])):
        last = joined[-1][0] if joined else ""
        glue = " " if last.endswith("=") else r", \quad " if names_space(row) and names_space(last) else ""
        if glue and width(last + glue + row) <= WIDE:
            joined[-1] = (last + glue + row, end)
        else:
            joined.append((row, end))
    return rf"\begin{{gathered}}{''.join(row + end for row, end in joined)}\end{{gathered}}"


def for_phone(tex: str, width: Callable[[str], float]) -> str:
    """Break each row of an `aligned` formula after its equals sign if a phone has no room for it."""
    aligned = ALIGNED.fullmatch(tex.strip())
    if not aligned or width(tex) <= PHONE:
        return tex
    broken = (re.sub(r"^(.*?)\s*&=\s*", r"& \1 =\\\\ & \\quad ", row) + end for row, end in rows(aligned[1]))
    return rf"\begin{{aligned}}{''.join(broken)}\end{{aligned}}"
