"""A text to measure tokenizers on: sentences about the figures of chapters 1 to 14."""

from importlib.resources import files


def read_prose() -> list[str]:
    """Return the sentences of `prose.txt`, in which no sentence occurs twice."""
    return (files(__package__) / "prose.txt").read_text("utf-8").splitlines()
