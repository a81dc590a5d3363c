"""The figures of the chapters as files: plain SVG, which every program draws as the page does, PNG, or PDF.

python -m builder.figures FOLDER                     write all figures, figure-4-1.svg and so on
python -m builder.figures FOLDER 4.1 16.4            write these
python -m builder.figures FOLDER --format png,pdf …  write them in these formats

On a page, colors follow the theme by CSS variables, which other programs do not know. In a file they are
those of the light theme, and an SVG brings its fonts along. Of a slider, the first frame is written. The
gallery (`{figure-gallery}`) shows the same files.
"""

import argparse
import base64
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import matplotlib
import nbformat
from tqdm import tqdm

from annotated_transformer.book.drawing.figures import anchor
from builder.chapters import CHAPTERS, ROOT, written
from builder.figure_words import is_figure, take_words, with_outputs
from builder.site.rendering.fonts import cut_font
from builder.site.rendering.vendored import vendored

IMAGE = re.compile(r'<img class="at-svg"[^>]*? src="data:image/svg\+xml,([^"]*)"')
MIXED = re.compile(r"(?:fill|stroke): color-mix\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\);? ?")
FACE = re.compile(r'@font-face \{ font-family: "(Source Sans 3|At Math)";[^}]*url\("([^"]+)"\)[^}]*\}')
VARIABLE = re.compile(r"var\(--[\w-]+, ([^()]+)\)")


class Drawing(NamedTuple):
    """A figure: its number, title and alt text, and its SVG for a page."""

    number: str
    title: str
    alt: str
    svg: str

    @property
    def anchor(self) -> str:
        """Its id on the page, such as figure-4-1."""
        return anchor(self.number)


def drawings(notebook: Path) -> list[Drawing]:
    """Return the figures of a chapter by its notebook, in their order, with the words of its source."""
    source = notebook.parent / "src" / f"{notebook.stem}.md"
    figures = []
    for cell, _, _, words in take_words(with_outputs(source, nbformat.read(notebook, as_version=4))):
        (output,) = filter(is_figure, cell.outputs)
        if image := IMAGE.search(output.data["text/html"]):
            _, alt = words.alts[words.start]
            figures.append(Drawing(words.number, words.title, alt, unquote(image[1])))
    return figures


def plain(svg: str) -> str:
    """Return an SVG without the variables and functions of CSS: with the colors of the light theme."""
    text = MIXED.sub("", svg)  # a plain color stands before it
    while VARIABLE.search(text):
        text = VARIABLE.sub(r"\1", text)
    return re.sub(r'^<svg style="[^"]*"', "<svg", text)


def faces(characters: str) -> list[tuple[str, str]]:
    """Return what in a drawing needs a face of the book, as a regular expression, and the face with its font.

    Of the fonts of formulas, only `characters` are kept.
    """
    static, fonts_of_formulas, result = Path(__file__).parent / "site" / "static", vendored("mathjax"), []
    for rule in FACE.finditer((static / "book.css").read_text(encoding="utf-8")):
        face, (family, file) = rule[0], rule.groups()
        look = "italic;" if "italic" in face else "700;" if "weight: 700" in face else ""
        needs = "[\u0370-\u03ff]" if "U+0370" in face else f"{look}[^<]*{family}"
        if family == "At Math":
            source = fonts_of_formulas[f"output/chtml/fonts/woff-v2/{Path(file).name}"]
            font = cut_font(source, characters)
        else:
            font = (static / file).read_bytes()
        result.append((needs, face.replace(file, f"data:;base64,{base64.b64encode(font).decode()}")))
    return result


def with_faces(svg: str, known: list[tuple[str, str]]) -> str:
    """Return a plain SVG with those of the `known` faces that it needs, so that it looks as on the page."""
    rules = "".join(face for needs, face in known if re.search(needs, svg))
    return svg.replace(">", f"><style>{rules}</style>", 1)


def as_png(svg: str, *, sharpness: float = 3.0) -> bytes:
    """Return a plain SVG as PNG, with so many pixels for each pixel of a screen."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, font_files=list(fonts()), dpi=96, zoom=sharpness))


def as_pdf(svg: str) -> bytes:
    """Return a plain SVG as PDF, with its letters as text."""
    from reportlab.graphics import renderPDF
    from svglib.fonts import register_font
    from svglib.svglib import svg2rlg

    for file, (weight, style) in fonts().items():
        family = "STIXGeneral" if "STIX" in file else "DejaVu Sans"
        register_font(family, font_path=file, weight=weight, style=style)
    return bytes(renderPDF.drawToString(svg2rlg(io.StringIO(svg)), invariant=1))


def fonts() -> dict[str, tuple[str, str]]:
    """Return the files of the letters in which figures are drawn, with weight and style."""
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    plain, bold, italic = ("normal", "normal"), ("700", "normal"), ("normal", "italic")
    dejavu = {"DejaVuSans": plain, "DejaVuSans-Bold": bold, "DejaVuSans-Oblique": italic}
    stix = {"STIXGeneral": plain, "STIXGeneralBol": bold, "STIXGeneralItalic": italic}
    return {str(folder / f"{name}.ttf"): look for name, look in (dejavu | stix).items()}


FORMATS: dict[str, Callable[[str], bytes]] = {"svg": str.encode, "png": as_png, "pdf": as_pdf}


def main() -> None:
    """Write the figures that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m builder.figures")
    parser.add_argument("folder", type=Path, help="where to write; made if it is not there")
    parser.add_argument("numbers", nargs="*", help="figures, such as 4.1; without one, all")
    parser.add_argument(
        "--format", default="svg", help=f"one or more of {','.join(FORMATS)}; svg if not given"
    )
    options = parser.parse_args()
    numbers, formats = set(options.numbers), options.format.split(",")
    if odd := sorted(set(formats) - set(FORMATS)):
        sys.exit(f"there is no format {', '.join(odd)}; there are {', '.join(FORMATS)}")
    every = [figure for path in written(ROOT) for figure in drawings(CHAPTERS / f"{path.stem}.ipynb")]
    if unknown := sorted(numbers - {figure.number for figure in every}):
        known = ", ".join(figure.number for figure in every)
        sys.exit(f"there is no figure {', '.join(unknown)}; there are {known}")
    options.folder.mkdir(parents=True, exist_ok=True)
    chosen = [figure for figure in every if not numbers or figure.number in numbers]
    fonts_of_book = faces("".join(figure.svg for figure in chosen))
    for figure in tqdm(chosen, unit=" figures", disable=None):
        for name in formats:
            svg = with_faces(plain(figure.svg), fonts_of_book) if name == "svg" else plain(figure.svg)
            (options.folder / f"{figure.anchor}.{name}").write_bytes(FORMATS[name](svg))


if __name__ == "__main__":
    main()
