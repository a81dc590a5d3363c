"""Computed tables: what a cell would print in columns, as a table that fits every screen."""

import re
from collections.abc import Iterable, Sequence

from annotated_transformer.book.output import CellOutput

HYPHEN = re.compile("(?<!e)-")
NUMBER = re.compile(r"[-−]?\d[\d,.]*(e-?\d+)?%?( (to|of) [-−]?\d[\d,.]*(e-?\d+)?%?)?| *")


def show_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> CellOutput:
    """Show rows below the names of their columns; a column of numbers is aligned to the right.

    A cell is Markdown or a number; round it with a format, such as f"{share:.0%}".

    Raises:
        ValueError: There are no rows, or one has another number of cells than `head`.
    """
    names = [str(name) for name in head]
    texts = [[str(cell) for cell in row] for row in rows]
    cells = [[HYPHEN.sub("−", cell) if NUMBER.fullmatch(cell) else cell for cell in row] for row in texts]
    if not cells:
        raise ValueError(f"the table {' | '.join(names)} has no rows")
    for row in cells:
        if len(row) != len(names):
            raise ValueError(f"a row has {len(row)} cells, {' | '.join(row)}, but the head has {len(names)}")
    numeric = [all(NUMBER.fullmatch(cell) for cell in column) for column in zip(*cells, strict=True)]
    rule = ["--:" if right else "---" for right in numeric]
    return CellOutput("\n".join(f"| {' | '.join(row)} |" for row in [names, rule, *cells]))
