"""Fewer icons in the theme's own files."""

import re
from pathlib import Path

from sphinx.application import Sphinx

from builder.site.rendering.fonts import cut_font

ICON = re.compile(r"(?:\.fa-[\w-]+:before,?)+\{content:\"[^\"]*\"\}")
ICON_FACE = re.compile(r"@font-face\{[^}]*fa-solid-900[^}]*\}")
OUR_ICON_FACE = (
    '@font-face{font-family:"Font Awesome 6 Free";font-weight:900;font-display:block;'
    'src:url(../icons.woff) format("woff")}'
)


def icon_names(folder: Path) -> set[str]:
    """Return the names of the icons in the pages and scripts of a rendered book."""
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.html")]
    scripts = (folder / "_static").rglob("*.js")  # some hold bytes that are not UTF-8: the models
    texts += [path.read_text(encoding="latin-1") for path in scripts]
    return {name for text in texts for name in re.findall(r"\bfa-[a-z0-9-]+", text)}


def cut_icons(app: Sphinx) -> None:
    """Reduce the theme's 2,000 icons to those that a page shows, and remove their script."""
    static = Path(app.outdir, "_static")
    for unused in [
        static / "scripts" / "fontawesome.js",
        *static.rglob("*.map"),
        *static.rglob("*.LICENSE.txt"),
    ]:
        unused.unlink(missing_ok=True)
    names = icon_names(Path(app.outdir))
    sheet = static / "styles" / "pydata-sphinx-theme.css"
    css = ICON.sub(
        lambda rule: rule[0] if names & set(re.findall(r"fa-[\w-]+", rule[0])) else "",
        sheet.read_text(encoding="utf-8"),
    )
    others = [path.read_text(encoding="utf-8") for path in static.rglob("*.css") if path != sheet]
    sheets = "\n".join([css, *others])
    codes = {chr(int(code, 16)) for code in re.findall(r"[\"']\\([ef][0-9a-f]{3})[\"']", sheets)}
    codes |= {char for char in sheets if "\ue000" <= char <= "\uf8ff"}  # icons live in the private use area
    fonts = static / "vendor" / "fontawesome" / "webfonts"
    (static / "icons.woff").write_bytes(cut_font(fonts / "fa-solid-900.ttf", codes))
    css = OUR_ICON_FACE + ICON_FACE.sub("", css)
    sheet.write_text(re.sub(r"\n/\*# sourceMappingURL=.*?\*/", "", css), encoding="utf-8")
