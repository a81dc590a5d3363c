"""The colors of the book's style sheets, and how well they can be told apart."""

import re
from pathlib import Path

STATIC = Path(__file__).resolve().parents[1] / "builder" / "site" / "static"
CSS = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in ("book.css", "figures.css"))


def variables(theme: str) -> dict[str, str]:
    blocks = re.findall(rf'^html\[data-theme="{theme}"\] \{{(\n  --at-[^}}]*)', CSS, re.MULTILINE)
    return dict(re.findall(r"(--at-[\w-]+): (#\w{6});", "".join(blocks)))


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def mixed(low: str, high: str, share: float) -> str:
    ends = [[int(end[i : i + 2], 16) for i in (1, 3, 5)] for end in (low, high)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))
