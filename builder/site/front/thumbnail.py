"""A chapter's thumbnail: the drawing of one of its figures, reduced to a static picture."""

import base64
import json
import re
from xml.etree import ElementTree

from defusedxml.ElementTree import fromstring

DRAWING = re.compile(r'<img class="at-svg"[^>]*? src="data:image/svg\+xml;base64,([^"]+)"')
SVG = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"
DRAWN = {"svg", "g", "defs", "clipPath", "pattern", "linearGradient", "stop", "use", "image", "text", "tspan"}
DRAWN |= {"path", "rect", "line", "polyline", "polygon", "circle", "ellipse", "marker", "mask"}
UNDRAWN_ATTRIBUTE = re.compile(r"on|aria-|data-|(tabindex|role|class|focusable)$")

ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")


def thumbnail(notebook: str, prefix: str, figure: str = "") -> str:
    """Return the drawing of a figure ("3.4") of a notebook, or of its first, as a static picture.

    Nothing in it can be focused, run or announced, and its ids begin with `prefix`.
    """
    html = [
        "".join(output["data"]["text/html"])
        for cell in json.loads(notebook)["cells"]
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    anchor = f'id="figure-{figure.replace(".", "-")}"' if figure else ""
    for drawing in (DRAWING.search(page) for page in html if anchor in page):
        if drawing:
            return safe(base64.b64decode(drawing[1]).decode(), prefix)
    return ""


def safe(drawing: str, prefix: str) -> str:
    """Return an SVG reduced to its shapes and letters, hidden from screen readers."""
    root = fromstring(drawing)
    _strip(root)
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            if UNDRAWN_ATTRIBUTE.match(name) or (
                name in {"href", LINK} and not value.startswith(("#", "data:image/png"))
            ):
                del element.attrib[name]
            elif name == "id":
                element.set(name, prefix + value)
            else:
                own = re.sub(r"url\(#", f"url(#{prefix}", value)
                element.set(name, f"#{prefix}{own[1:]}" if name in {"href", LINK} and own[0] == "#" else own)
    root.attrib.pop("style", None)
    root.attrib |= {"aria-hidden": "true", "focusable": "false"}
    return ElementTree.tostring(root, encoding="unicode")


def _strip(element: ElementTree.Element) -> None:
    """Remove what is not drawn: scripts, links, titles, styles, other documents."""
    for child in list(element):
        if child.tag in {f"{{{SVG}}}{name}" for name in DRAWN}:
            _strip(child)
        else:
            element.remove(child)
