"""The last line of a chapter's notebook: how many of its claims and checks hold in the reader's kernel."""

import os
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from IPython import get_ipython

from annotated_transformer.book.output import CellOutput, say

_results: dict[str, tuple[str, str, dict[str, bool | None]]] = {}  # of a cell: last execution, id, what held


def count_result(what: str, holds: bool | None) -> None:
    """Remember whether a claim or check holds; None if it is about an example that is not here.

    A cell that is run again replaces its earlier results.

    JupyterLab sends a cell's id along with its code; elsewhere, the code itself identifies the cell.
    """
    if (shell := get_ipython()) is None:
        return
    request: dict[str, Any] = getattr(shell, "get_parent", dict)()
    cell_id = request.get("metadata", {}).get("cellId", "")
    cell = cell_id or request.get("content", {}).get("code") or shell.user_ns["In"][-1]
    now = request.get("header", {}).get("msg_id") or str(shell.execution_count)  # nbval stores no history
    then, _, found = _results.get(cell, ("", "", {}))
    found = found if then == now else {}
    found[what] = found.get(what, True) and holds  # a loop may say it several times
    _results[cell] = now, cell_id, found


def tally() -> CellOutput:
    """Count the claims and checks that hold in this kernel, and link to the cells of those that do not.

    The checks of exercises are not among them.
    """
    results = [(cell_id, *result) for _, cell_id, found in _results.values() for result in found.items()]
    wrong, other = (
        [_linked(what, cell_id) for cell_id, what, holds in results if holds is verdict]
        for verdict in (False, None)
    )
    line = f"✓ {len(results) - len(wrong + other)} of {len(results)} claims and checks hold in this kernel."
    line += f" ✗ {len(wrong)}: {'; '.join(wrong)}." if wrong else ""
    line += f" – {len(other)} said of the book's example only: {'; '.join(other)}." if other else ""
    return say(line)


def _linked(what: str, cell_id: str) -> str:
    """Return the words of a claim or check as a link to its cell, where JupyterLab says which that is."""
    notebook = PurePath(os.environ.get("JPY_SESSION_NAME", "")).name
    return f"[{what}]({quote(notebook)}#cell-id={cell_id})" if notebook and cell_id else what
