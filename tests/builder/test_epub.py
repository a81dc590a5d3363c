"""The EPUB: pages that any reader of EPUBs can show, and links that lead somewhere."""

import sys
import zipfile
from pathlib import Path
from posixpath import normpath
from subprocess import run
from urllib.parse import unquote, urlsplit

import pytest
from lxml import etree

ROOT = Path(__file__).parents[2]
TOOL = Path(sys.executable).with_name("jupyter-book")
OPTIONS = "--builder custom --custom-builder epub -n --keep-going --path-output".split()
NEEDED = {"math": "chapters/03_scaled_dot_product_attention.xhtml", "pre": "chapters/whole_transformer.xhtml"}


@pytest.mark.slow
def test_law_pages_are_xml_without_scripts_and_each_link_leads_into_the_file(tmp_path: Path):
    found = run(
        [TOOL, "build", ".", *OPTIONS, tmp_path], capture_output=True, text=True, cwd=ROOT, check=False
    )
    (path,) = tmp_path.rglob("*.epub")
    assert "WARNING" not in found.stdout + found.stderr
    with zipfile.ZipFile(path) as book:
        pages = {
            name: etree.fromstring(book.read(name)) for name in book.namelist() if name.endswith(".xhtml")
        }
        names = {*book.namelist()}
    ids = {name: {*page.xpath("//@id")} for name, page in pages.items()}
    for name, page in pages.items():
        tags = {etree.QName(each).localname for each in page.iter(etree.Element)}
        assert tags.isdisjoint({"script", "button", "input", "mjx-container"}), name
        for address in map(urlsplit, page.xpath("//@href | //@src")):
            there = normpath(f"{name}/../{unquote(address.path)}") if address.path else name
            if not address.scheme:
                assert there in names, (name, address)
                assert not address.fragment or address.fragment in ids[there], (name, address)
    for tag, name in NEEDED.items():
        assert pages[name].xpath(f"//*[local-name() = '{tag}']")
