"""The figures of the chapters as files: plain SVG, which every program draws as the page does.

python -m builder.figures FOLDER             write all figures, figure-4-1.svg and so on
python -m builder.figures FOLDER 4.1 16.4 …  write these

On a page, colors follow the theme by CSS variables, which other programs do not know. In a file they are
those of the light theme. Of a slider, the first frame is written. The gallery (`{figure-gallery}`) shows the
same files.
"""

import base64
import html
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from builder.chapters import written

ROOT = Path(__file__).parents[1]
FIGURE = re.compile(
    r'<figure class="at-figure[^>]*? id="(?P<anchor>figure-[\w-]+)".*?'
    r'<a class="at-figure-number"[^>]*>Figure (?P<number>[\w.]+)</a> (?P<title>.*?)</p>.*?'
    r'<img class="at-svg"[^>]*? alt="(?P<alt>[^"]*)"[^>]*? src="data:image/svg\+xml;base64,(?P<data>[^"]*)"',
    re.DOTALL,
)
MIXED = re.compile(r"fill: color-mix\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\);? ?")
VARIABLE = re.compile(r"var\(--[\w-]+, ([^()]+)\)")


@dataclass(frozen=True)
class Drawing:
    """A figure: its anchor ("figure-4-1"), number, title and alt text, and its SVG for a page."""

    anchor: str
    number: str
    title: str
    alt: str
    svg: str


def drawings(notebook: Path) -> list[Drawing]:
    """Return the figures of a notebook, in their order."""
    outputs = [
        "".join(output.get("data", {}).get("text/html", ""))
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        for output in cell.get("outputs", [])
    ]
    found = [figure.groupdict() for output in outputs for figure in FIGURE.finditer(output)]
    return [
        Drawing(
            anchor=one["anchor"],
            number=one["number"],
            title=html.unescape(one["title"]),
            alt=html.unescape(one["alt"]),
            svg=base64.b64decode(one["data"]).decode(),
        )
        for one in found
    ]


def plain(svg: str) -> str:
    """Return an SVG without the variables and functions of CSS: with the colors of the light theme."""
    text = MIXED.sub("", svg)  # a plain color stands before it
    while VARIABLE.search(text):
        text = VARIABLE.sub(r"\1", text)
    return re.sub(r'^<svg style="[^"]*"', "<svg", text)


def main() -> None:
    """Write the figures that the command line names."""
    folder, numbers = Path(sys.argv[1]), set(sys.argv[2:])
    found = [one for source in written(ROOT) for one in drawings(ROOT / "chapters" / f"{source.stem}.ipynb")]
    if unknown := sorted(numbers - {one.number for one in found}):
        sys.exit(
            f"there is no figure {', '.join(unknown)}; there are {', '.join(one.number for one in found)}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for one in found:
        if not numbers or one.number in numbers:
            (folder / f"{one.anchor}.svg").write_text(plain(one.svg), "utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
