"""Changes to the theme's own files: fewer icons, and colors that do not wait for a script."""

import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

from builder.site.rendering.fonts import cut_font

SHEETS = ("styles/pydata-sphinx-theme.css", "pygments.css", "styles/sphinx-book-theme.css")
THEMED = re.compile(r"""html\[data-theme=["']?(light|dark)["']?\]""")
COMMA = re.compile(r",(?![^()]*\))")  # between selectors, not within one
ICON = re.compile(r"(?:\.fa-[\w-]+:before,?)+\{content:\"[^\"]*\"\}")
ICON_FACE = re.compile(r"@font-face\{[^}]*fa-solid-900[^}]*\}")
OUR_ICON_FACE = (
    '@font-face{font-family:"Font Awesome 6 Free";font-weight:900;font-display:block;'
    'src:url(../icons.woff) format("woff")}'
)


def rules(css: str) -> Iterator[tuple[str, str]]:
    """Yield selector and declarations of each rule at the top level; rules within @media are left out."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    start, depth, opened = 0, 0, 0
    for brace in re.finditer(r"[{}]", css):
        if brace[0] == "{":
            if depth == 0:
                opened = brace.start()
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                if not css[start:opened].strip().startswith("@"):
                    yield css[start:opened].strip(), css[opened + 1 : brace.start()].strip()
                start = brace.end()


def without_script(css: str) -> str:
    """Return the rules of both themes, chosen by the reader's system rather than by a script."""
    light: list[str] = []
    dark: list[str] = []
    for selectors, declarations in rules(css):
        for theme, chosen in (("light", light), ("dark", dark)):
            named = [(part, THEMED.search(part)) for part in COMMA.split(selectors)]
            parts = [part for part, name in named if name and name[1] == theme]
            if parts:
                names = THEMED.sub('html[data-theme="auto"]', ",".join(parts))
                chosen.append(f"{names.strip()}{{{declarations}}}")
    return "\n".join([*light, "@media screen and (prefers-color-scheme: dark){", *dark, "}", ""])


def write_themes(app: Sphinx) -> None:
    """Write the style sheet for readers without scripts."""
    static = Path(app.outdir, "_static")
    ours = sorted(path.name for path in (Path(__file__).parents[1] / "static").glob("*.css"))
    sheets = "\n".join((static / name).read_text(encoding="utf-8") for name in (*SHEETS, *ours))
    (static / "themes.css").write_text(without_script(sheets), encoding="utf-8")


def icon_names(folder: Path) -> set[str]:
    """Return the names of the icons in the pages and scripts of a rendered book."""
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.html")]
    texts += [path.read_text(encoding="utf-8") for path in (folder / "_static").rglob("*.js")]
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
