"""Figures as files that other programs draw."""

import io
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from PIL import Image

from builder import figures
from tests.targets import HTML, NOTEBOOKS, ROOT


def test_law_a_file_has_neither_variables_nor_functions_of_css():
    mixed = "color-mix(in srgb, var(--at-heat, #1f1147) 60%, var(--at-paper, var(--at-paper, #fefefe)))"
    path = f'<path style="fill: var(--at-ink, #1d2430); fill: {mixed}; a: b"/>'
    svg = f'<svg style="width:min(100%, 9px)" x="1">{path}</svg>'
    assert figures.plain(svg) == '<svg x="1"><path style="fill: #1d2430; a: b"/></svg>'


def whole(name: str, data: bytes) -> None:
    """Check that a drawing can be drawn elsewhere: with its fonts, and without functions of CSS."""
    ElementTree.fromstring(data)
    assert b"src: url(data:;base64," in data.replace(b'"', b""), name
    assert not [sign for sign in (b"var(", b"color-mix(", b"min(") if sign in data], name


@pytest.mark.page
def test_law_every_figure_of_a_chapter_can_leave_the_page():
    """What the gallery shows."""
    anchors = [one.anchor for path in NOTEBOOKS.values() for one in figures.drawings(path)]
    assert len(anchors) > 100
    for name in anchors:
        whole(name, HTML.parent.joinpath("_static", "figures", f"{name}.svg").read_bytes())


def test_law_the_command_writes_the_figures_that_it_is_asked_for(tmp_path):
    command = [sys.executable, "-m", "builder.figures", str(tmp_path)]
    subprocess.run([*command, "4.1", "--format", "svg,png,pdf"], cwd=ROOT, check=True)
    found = {path.name: path.read_bytes()[:4] for path in tmp_path.iterdir()}
    assert found == {"figure-4-1.svg": b"<svg", "figure-4-1.png": b"\x89PNG", "figure-4-1.pdf": b"%PDF"}
    for arguments, sentence in (
        (["4.99"], "there is no figure 4.99; there are 1.1, 1.2"),
        (["--format", "gif"], "there is no format gif; there are svg, png, pdf"),
    ):
        failed = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True)
        assert (failed.returncode, sentence in failed.stderr) == (1, True)


SQUARE = """<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt" viewBox="0 0 72 36">
<path d="M0 0L36 0L36 36L0 36z" style="fill: #d55e00"/>
<text x="40" y="20" style="font-family: 'DejaVu Sans'; font-size: 12px; font-weight: 700">key</text></svg>"""


def test_law_a_second_program_draws_the_same():
    """The program that makes the PNG and the one that makes the PDF draw what the SVG says."""
    image = Image.open(io.BytesIO(figures.as_png(SQUARE, sharpness=1.0))).convert("RGBA")
    assert image.size == (96, 48)
    assert image.getpixel((24, 24)) == (0xD5, 0x5E, 0x00, 255)
    letters = image.crop((50, 0, 96, 48)).getchannel("A").getbbox()
    assert letters is not None
    assert letters[0] < 8
    drawing = figures.as_pdf(SQUARE)
    assert b"/MediaBox [ 0 0 72 36 ]" in drawing
    assert b"DejaVu" in drawing
