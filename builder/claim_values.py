"""The results of a chapter's claims, and the sentences that quote them.

A source writes {claim}`NAME` where the value of a claim belongs, and the builder fills it in, in the notebook
and on the page alike: a number, or the range of several. Of a claim whose value moves, it is the bound, so
write "below {claim}`gap`"; an interval has the ends [0] and [1].

    {claim}`gap`            as the claim's line shows it, without the number of values: 0.12 to 0.13
    {claim}`gap[0]`         the first of several values; [-1] is the last
    {claim}`gap :.0%`       formatted as Python does: 12% to 13%
    {claim}`gap[1] :.2f`    both
"""

import ast
import re
from collections.abc import Iterable
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from annotated_transformer.book.cells.claim import unrounded

LINE = re.compile(r"✓ (?P<what>.*?)(?:: \*\*(?P<value>.*)\*\* \((?:the book says .*|exactly)\))?$")
ROLE = re.compile(r"\{claim\}`\s*([^`]*?)\s*`")
QUOTE = re.compile(r"(?P<name>[a-z0-9-]+)(?:\[(?P<place>-?\d+)\])?(?:\s+:(?P<format>\S+))?")
NAME_EACH = "name each, in the order of the cell, as in :claims: [rows-sum, last-row]"
COUNT = re.compile(r", \d+ values$")
GROUPED = re.compile(r"(?<=\d),(?=\d{3})")
MINUS = re.compile(r"(?<![\w.])-(?=\d)")


class Refusals(list[str]):
    """The texts of the ValueErrors in its `with` blocks, to be raised as one: a reader sees all at once."""

    def __enter__(self) -> None:
        """Begin a block that a ValueError ends without ending the program."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Keep the error's text, unless it is another error."""
        if isinstance(error, ValueError):
            self.append(str(error))
        return isinstance(error, ValueError)

    def raise_all(self) -> None:
        """Raise a ValueError that has all of them, a line each, if there are any."""
        if self:
            raise ValueError("\n".join(self))


def named_claims(cell: NotebookNode) -> dict[str, NotebookNode]:
    """Return the outputs of a cell that are claims, by the names in its option `:claims:`.

    Raises:
        ValueError: The cell displayed more or fewer claims than it has names.
    """
    names = cell.metadata.get("claims", [])
    outputs = [output for output in cell.outputs if "claim" in output.get("metadata", {})]
    if len(outputs) != len(names):
        raise ValueError(
            f"a cell displayed {len(outputs)} claims, and its option :claims: has {len(names)} names "
            f"({', '.join(names) or 'none'}); {NAME_EACH}; it begins {cell.source[:60]!r}"
        )
    return dict(zip(names, outputs, strict=True))


def calls(code: str, *names: str) -> list[ast.Call]:
    """Return the calls of these functions in a cell, in the order of the text."""
    nodes = [node for node in ast.walk(parse_cell(code)) if isinstance(node, ast.Call)]
    named = [node for node in nodes if ast.unparse(node.func) in names]
    return sorted(named, key=lambda node: (node.lineno, node.col_offset))


def checks_in(code: str) -> list[str]:
    """Return the calls of `check`, `check_close`, and `run_messages` in a cell."""
    return [ast.unparse(call) for call in calls(code, "check", "check_close", "run_messages")]


def parse_cell(cell: str) -> ast.Module:
    """Parse a cell; one with a magic command or a deliberate error is an empty module."""
    try:
        return ast.parse(cell)
    except SyntaxError:
        return ast.Module([], [])


def line(output: NotebookNode) -> str:
    """Return what a claim's output says, after its check mark."""
    return str(output.data["text/markdown"]).removeprefix("✓ ")


def measured(output: NotebookNode) -> str:
    """Return what a claim measures."""
    return str(output.metadata.claim.name)


def fill(cells: Iterable[NotebookNode]) -> None:
    """Replace each {claim} in the texts of these cells by the value that a claim among them displayed.

    Raises:
        ValueError: There is no such claim, or it has no such value; all cases are named.
    """
    cells, refused = list(cells), Refusals()
    claims: dict[str, NotebookNode] = {}
    for cell in cells:
        if cell.cell_type == "code":
            with refused:
                claims |= named_claims(cell)
    refused.raise_all()

    def value(role: re.Match[str]) -> str:
        with refused:
            return quoted(role[1], claims)
        return ""

    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = ROLE.sub(value, cell.source)
    refused.raise_all()


def quote_all(text: str, cells: Iterable[NotebookNode]) -> str:
    """Return a text with the values of the claims that it quotes, which code among the cells displayed."""
    words = new_markdown_cell(text)
    fill([*cells, words])
    return str(words.source)


def quoted(role: str, claims: dict[str, NotebookNode]) -> str:
    """Return the value of a claim as a sentence quotes it.

    Raises:
        ValueError: There is no such claim, or it has no such value.
    """
    asked = QUOTE.fullmatch(role)
    if not asked or asked["name"] not in claims:
        raise ValueError(
            f"{{claim}}`{role}` names no claim of this chapter; write NAME, NAME[0] or NAME :.0%, where NAME "
            f"is one of {', '.join(claims) or '(there are none)'}"
        )
    output = claims[asked["name"]]
    try:
        text = _plain(output) if asked["place"] is asked["format"] is None else _formatted(output, asked)
    except (ValueError, IndexError, TypeError, SyntaxError) as error:
        raise ValueError(f"{{claim}}`{role}` cannot quote {line(output)!r}: {error}") from error
    return MINUS.sub("−", text)


def moving_bound(output: NotebookNode) -> list[float]:
    """Return the bound of a claim whose value moves with rounding, its ends in order; otherwise, nothing."""
    claim = output.metadata.claim
    (bound,) = claim.bound.values() if claim.get("moves") else ([],)
    return [float(end) for end in (bound if isinstance(bound, list | tuple) else [bound])]


def _plain(output: NotebookNode) -> str:
    if ends := moving_bound(output):
        return " to ".join(unrounded(end) for end in ends)
    parts = LINE.match(output.data["text/markdown"])
    if not parts or parts["value"] is None:
        raise ValueError("it has no number")
    return COUNT.sub("", parts["value"])


def _formatted(output: NotebookNode, asked: re.Match[str]) -> str:
    ends = moving_bound(output)
    stored: Any = ends or output.metadata.claim.value
    if isinstance(stored, str):  # an exact value, in words: 1,234 or ['es', 'sie']
        stored = ast.literal_eval(GROUPED.sub("", stored))
    values = list(stored) if isinstance(stored, list | tuple) else [stored]
    if asked["place"] is not None:
        values = [values[int(asked["place"])]]
    if asked["format"] is None:
        if isinstance(values[0], float) and float(f"{values[0]:g}") != values[0]:
            raise ValueError(f"{values[0]} needs a format: {asked['name']}[{asked['place']}] :.2f")
        return unrounded(values[0]) if ends else str(values[0])
    numbers = [float(value) for value in values]
    return " to ".join(dict.fromkeys(format(end, asked["format"]) for end in (min(numbers), max(numbers))))
