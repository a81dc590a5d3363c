"""The book as an EPUB, from the same pages: formulas as MathML, figures as SVG files, no scripts.

Left out are the pages that only a browser can use, and those about the project.
"""

import hashlib
import os
import re
import shutil
import unicodedata
from contextlib import suppress
from pathlib import Path
from posixpath import normpath
from typing import Any
from urllib.parse import unquote, urlsplit

import lxml.html
from docutils import nodes
from lxml import etree
from sphinx.builders.epub3 import Epub3Builder

from annotated_transformer import __version__
from builder.figures import faces, plain, with_faces

NAME = "annotated-transformer"
STYLE = Path(__file__).with_name("epub.css")
ITEM = re.compile(r'<item id="[^"]*" href="(?P<file>[^"]*\.xhtml)" media-type="[^"]*" />')
PROPERTIES = {"mathml": "<math", "svg": "<svg"}
DIGIT = re.compile(r'(\bid="|href="#|url\(#)(?=\d)')  # at the beginning of a name, which XML does not allow
LEFT_OUT = re.compile(
    r"explorer|genindex|search|chapters/(api/.*|corrections|syllabus|exercises|indexes|symptoms)"
)
TAGS = ("script", "button", "input", "select", "template")
CLASSES = (
    "headerlink",
    "at-figure-tools",
    "at-on-phone",
    "at-narrow",
    "at-filter",
    "at-map",
    "at-alignment",
    "at-cover-start",
)
ICONS = ".//li[@class='at-card']//svg"
MOVING = ("at-slider", "at-drag")
MOVES = '<span class="at-moves"> On the book\'s page, this figure moves.</span>'
DATA = "data:image/svg+xml,"
CASED = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio", "patternunits": "patternUnits"}
NAMESPACES = {"svg": "http://www.w3.org/2000/svg", "math": "http://www.w3.org/1998/Math/MathML"}


class Epub(Epub3Builder):
    """Sphinx's builder of EPUBs, whose pages are simplified before they are written."""

    def init(self) -> None:
        """Set what an EPUB needs beside the settings of the site."""
        config = self.config
        config.templates_path, config.html_static_path = [], []
        config.epub_basename, config.project = NAME, config.html_title
        config.epub_identifier = config.epub_uid = NAME
        config.version = config.release = __version__
        config.epub_description = "The Transformer, explained by code that runs and claims that are checked."
        config.epub_contributor = config.epub_publisher = config.author
        config.epub_show_urls, config.epub_use_index, config.epub_tocscope = "no", False, "includehidden"
        config.epub_tocdepth, config.html_copy_source, config.html_domain_indices = 2, False, False
        shutil.rmtree(self.outdir, ignore_errors=True)  # whatever lies there becomes a part of the book
        super().init()

    def prepare_writing(self, docnames: set[str]) -> None:
        """Use no style sheets but the colors of code and a short one."""
        self.app.registry.css_files.clear()
        self._css_files.clear()
        for name in ("pygments.css", STYLE.name):
            self.add_css_file(name)
        super().prepare_writing(docnames)

    def write_doc(self, docname: str, doctree: nodes.document) -> None:
        """Write a page, unless it is left out."""
        if not LEFT_OUT.fullmatch(docname):
            super().write_doc(docname, doctree)

    def copy_static_files(self) -> None:
        """Copy the short style sheet beside the colors of code."""
        super().copy_static_files()
        shutil.copy(STYLE, Path(self.outdir, "_static"))

    def build_content(self) -> None:
        """Write the list of files, which says of a page that it has formulas or drawings."""
        super().build_content()
        path = Path(self.outdir, "content.opf")

        def declared(item: re.Match[str]) -> str:
            text = Path(self.outdir, item["file"]).read_text("utf-8")
            found = " ".join(name for name, tag in PROPERTIES.items() if tag in text)
            return item[0].replace("/>", f'properties="{found}" />') if found else item[0]

        path.write_text(ITEM.sub(declared, path.read_text("utf-8")), "utf-8")

    def build_epub(self) -> None:
        """Pack the files, with the time that SOURCE_DATE_EPOCH says, if it does."""
        if epoch := os.getenv("SOURCE_DATE_EPOCH"):
            for path in Path(self.outdir).rglob("*"):
                os.utime(path, (int(epoch),) * 2)
        super().build_epub()

    def get_toc(self) -> None:
        """Collect the entries of the contents, without the pages that are left out."""
        super().get_toc()
        self.refnodes = [entry for entry in self.refnodes if not self._lacks(entry["refuri"])]

    def handle_page(self, pagename: str, addctx: dict[str, Any], *args: Any, **options: Any) -> None:
        """Write a page with a simplified body."""
        if LEFT_OUT.fullmatch(pagename):
            return
        if "body" in addctx:
            addctx["body"] = self.simplified(addctx["body"], pagename)
        super().handle_page(pagename, addctx, *args, **options)

    def simplified(self, body: str, page: str) -> str:
        """Return a body as XHTML that needs no script."""
        tree = lxml.html.fragment_fromstring(body, create_parent="div")
        for formula in tree.xpath(".//mjx-container"):
            put_in_place(formula, formula.find(".//math"))
        for symbol in tree.xpath(".//mi[@mathvariant]"):
            lettered(symbol)
        for figure in (each for name in MOVING for each in tree.find_class(name)):
            caption = figure.find(".//figcaption")
            caption.append(lxml.html.fragment_fromstring(MOVES))
        dropped = (each for name in CLASSES for each in tree.find_class(name))
        for part in [*tree.iter(*TAGS), *tree.xpath(ICONS), *dropped]:
            part.drop_tree()
        for part in list(tree.iter("wbr")):  # libxml2 takes what follows for its content
            part.drop_tag()
        for image in tree.xpath(f".//img[starts-with(@src, '{DATA}')]"):
            image.set("src", self.image(unquote(image.get("src").removeprefix(DATA)), page))
        for link in tree.xpath(".//a[@href]"):
            address = urlsplit(link.get("href"))
            if not address.scheme and address.path and self._lacks(f"{page}/../{address.path}"):
                link.drop_tag()
        for part in tree.iter():
            if part.tag in NAMESPACES:
                part.set("xmlns", NAMESPACES[part.tag])
            for name in CASED.keys() & {*part.attrib}:
                part.set(CASED[name], part.attrib.pop(name))
        return etree.tostring(tree, encoding="unicode", method="xml")

    def image(self, svg: str, page: str) -> str:
        """Write a drawing to a file of its own, and return its address."""
        text = DIGIT.sub(r"\1at-", plain(svg))
        name = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.svg"
        folder = Path(self.outdir, "_images")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(with_faces(text, faces(text)), "utf-8")
        return "../" * page.count("/") + f"_images/{name}"

    def _lacks(self, address: str) -> bool:
        page = normpath(address.partition("#")[0].removesuffix(self.out_suffix))
        return page not in self.env.found_docs or bool(LEFT_OUT.fullmatch(page))


def lettered(symbol: Any) -> None:
    """Write a letter of a formula as the character that it is: many readers know no `mathvariant`."""
    variant, letter = symbol.get("mathvariant").upper(), symbol.text or ""
    if len(letter) == 1 and letter.isalpha() and variant != "NORMAL":
        name = f"{variant} {'CAPITAL' if letter.isupper() else 'SMALL'} {letter.upper()}"
        for full in (name, f"MATHEMATICAL {name}"):  # of R the first, of a bold x the second
            with suppress(KeyError):
                symbol.text = unicodedata.lookup(full)


def put_in_place(old: Any, new: Any) -> None:
    """Replace an element by another, before what follows it."""
    new.tail = old.tail
    old.getparent().replace(old, new)
