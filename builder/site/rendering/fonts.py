"""Fonts cut down to the characters that the book shows."""

import io
import logging
import re
from collections.abc import Iterable
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

from builder.site.rendering.vendored import vendored

logging.getLogger("fontTools").setLevel(logging.WARNING)  # it reports every table

FONT_FACE = re.compile(r"@font-face[^{]*\{[^}]*\}\s*")
FAMILIES = re.compile(r"([^{}]+)\{\s*font-family: ([\w, -]*?)(?: ! important)?;")
CHARACTER = re.compile(r'content: "((?:\\[0-9A-Fa-f]+ ?|[^"\\]|\\.)*)"')


def cut_font(path: Path, characters: Iterable[str]) -> bytes:
    """Return the font as WOFF, with the glyphs of `characters` only; equal input gives equal bytes."""
    options = subset.Options(layout_features=["*"], notdef_outline=True, hinting=True)
    options.drop_tables += ["FFTM"]  # the time at which the font was made
    font = TTFont(path, recalcTimestamp=False)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=sorted(map(ord, characters)))
    cutter.subset(font)
    font.flavor = "woff"
    file = io.BytesIO()
    font.save(file)
    return file.getvalue()


def css_characters(css: str) -> set[str]:
    r"""Return the characters that a style sheet writes: `content: "\221A"`."""
    texts = CHARACTER.findall(css)
    escaped = {chr(int(code, 16)) for text in texts for code in re.findall(r"\\([0-9A-Fa-f]+)", text)}
    return escaped | {char for text in texts for char in re.sub(r"\\[0-9A-Fa-f]+ ?", "", text)}


def style_with_fonts(css: str, html: str) -> dict[str, bytes]:
    """Return MathJax's style sheet, with the fonts that the formulas of `html` use and no others."""
    rules = FONT_FACE.sub("", css)
    names = {"MJX-TEX", *re.findall(r"(?:TEX|MJX)-[A-Z0-9]+|(?<=<)mjx-stretchy-\w", html)}
    used = {"MJXZERO"}
    for selectors, families in FAMILIES.findall(rules):  # of classes, and of what stretches: braces, brackets
        if names & set(re.findall(r"(?:TEX|MJX)-\w+|mjx-stretchy-\w", selectors)):
            used |= set(families.split(", "))
    files, faces = {}, []
    for face in FONT_FACE.findall(css):
        family = re.search(r"font-family: ([\w-]+)", face)
        file = re.search(r'url\("\./([\w-]+\.woff)"\)', face)
        if family is None or file is None or family[1] not in used:
            continue
        source = vendored("mathjax")[f"output/chtml/fonts/woff-v2/{file[1]}"]
        is_empty = family[1] == "MJXZERO"  # a font of no width, which gives lines their height
        files[file[1]] = source.read_bytes() if is_empty else cut_font(source, css_characters(rules))
        faces.append(re.sub(r"@font-face[^{]*\{", "@font-face {\n  font-display: block;", face))
    return {**files, "formulas.css": ("".join(faces) + rules).encode()}
