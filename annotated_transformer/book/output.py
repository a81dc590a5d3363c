"""Output of a chapter's cell that is neither a number nor a tensor; the preface explains how to read it.

While the book is built and tested, what is wrong raises an error; in a reader's copy, the output says it.
"""

import os
from collections.abc import Mapping
from typing import Any

STRICT = "CLAIMS_MUST_HOLD"  # the environment variable that the builder and the tests set


def must_hold() -> bool:
    """Return whether what does not hold raises an error, as it does while the book is built and tested."""
    return bool(os.environ.get(STRICT))


class CellOutput:
    """Output that Jupyter shows as Markdown or HTML, and a terminal or a screen reader gets as text."""

    def __init__(self, text: str, html: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Keep the plain text, the HTML if there is any, and what the notebook keeps beside them."""
        self._text, self._html, self._metadata = text, html, dict(metadata or {})

    def __repr__(self) -> str:
        return self._text

    def _repr_markdown_(self) -> str | None:
        return None if self._html else self._text

    def _repr_html_(self) -> str | None:
        return self._html

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, str], dict[str, Any]]:
        return {}, self._metadata  # the data are those of the other methods


def say(text: str) -> CellOutput:
    """Show `text` as Markdown prose, so that a sentence can contain numbers computed in its cell."""
    return CellOutput(text)
