"""Output of a chapter's cell that is neither a number nor a tensor; the preface explains how to read it."""


class CellOutput:
    """Output that Jupyter shows as Markdown or HTML, and a terminal or a screen reader gets as text."""

    def __init__(self, text: str, html: str | None = None) -> None:
        """Keep the plain text, and the HTML if there is any."""
        self._text, self._html = text, html

    def __repr__(self) -> str:
        return self._text

    def _repr_markdown_(self) -> str | None:
        return None if self._html else self._text

    def _repr_html_(self) -> str | None:
        return self._html


def say(text: str) -> CellOutput:
    """Show `text` as Markdown prose, so that a sentence can contain numbers computed in its cell."""
    return CellOutput(text)
