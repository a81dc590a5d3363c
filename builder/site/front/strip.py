"""The strip at the head of a chapter: the model as far as the reader knows it, and “you are here”."""

from collections.abc import Sequence
from html import escape

KNOWN = {  # the chapter by which the reader knows a part
    **dict.fromkeys(("encoder attention", "decoder attention", "cross-attention"), 2),
    "embedding": 7,
    "output": 7,
    "positions": 8,
    "norm": 9,
    "feed-forward": 10,
    "loss": 16,
    "loop": 18,
}
ENCODER = ("words", "embedding", "positions", "encoder attention", "feed-forward", "norm", "memory")
DECODER = (
    "words", "embedding", "positions", "decoder attention", "cross-attention", "feed-forward", "norm",
    "output", "next", "loss", "loop",
)  # fmt: skip
PARTS = {"encoder", "decoder", *ENCODER, *DECODER}
LABELS = {
    "encoder attention": "self-attention", "decoder attention": "self-attention", "norm": "Add & Norm",
    "memory": "its vectors", "output": "linear, softmax", "next": "the next word",
    "positions": "+ positions", "words": "source words", "loop": "back to the start",
}  # fmt: skip


def strip(chapter: int, here: Sequence[str]) -> str:
    """Return the strip of a chapter about the parts in `here`, which stand out, as HTML.

    Raises:
        ValueError: The strip has no such part.
    """
    if unknown := [part for part in here if part not in PARTS]:
        raise ValueError(f"the strip has no {', '.join(unknown)}; its parts are {', '.join(sorted(PARTS))}")
    rows = []
    for stack, parts in (("encoder", ENCODER), ("decoder", DECODER)):
        seen = [part for part in parts if chapter >= KNOWN.get(part, 0)]
        items = "".join(f"<li>{_marked(part, label(part, stack, chapter), here)}</li>" for part in seen)
        rows.append(f"<p>{_marked(stack, stack.capitalize(), here)}</p><ol>{items}</ol>")
    named = 'id="you-are-here" role="group" aria-label="You are here"'
    return f'<div class="at-strip" {named}>{"".join(rows)}</div>'


def label(part: str, stack: str, chapter: int) -> str:
    """Return the name of a part: attention has kinds from chapter 4 on, and a mask from chapter 6."""
    if part.endswith("attention") and chapter < 4:
        return "attention"
    if stack == "decoder" and part == "words":
        return "words so far"
    return "masked " * (part == "decoder attention" and chapter > 5) + LABELS.get(part, part)


def _marked(part: str, text: str, here: Sequence[str]) -> str:
    return f"<strong>{escape(text)}</strong>" if part in here else escape(text)
