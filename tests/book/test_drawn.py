"""Each committed picture is the one that was drawn.

nbval does not compare pictures, because their last digits depend on the processor. But each one comes with
`data-drawn`, a digest of its bytes, and `data-words`, a digest of the text in it.
"""

import configparser
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup

from annotated_transformer.book.drawing.captions import digest
from annotated_transformer.book.drawing.figures import new_figure, show_figure, words_digest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "chapters").glob("*.ipynb"))


def pages(path):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    found = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    return [page for page in found if "<img" in page]


def faults(page):
    """Report the pictures of an output that differ from those drawn."""
    seen, wrong = BeautifulSoup(page, "html.parser"), []
    images, data = seen("img"), seen.select_one("script.at-frames")
    frames = json.loads(data.string)["frames"] if data else []
    for image in images:
        drawing = drawn(image["src"])
        if image.get("data-drawn") != digest(drawing):
            wrong.append(f"not the picture that was drawn: {image['alt']}")
        if image.get("data-words") != words_digest(drawing):
            wrong.append(f"other words than those that were drawn: {image['alt']}")
    if frames and not any(frame["image"] == images[0]["src"] for frame in frames):
        wrong.append("the first picture of a slider is none of its frames")
    for frame in frames:
        if frame.get("drawn") != digest(drawn(frame["image"])):
            wrong.append(f"not the frame that was drawn: {frame['value']}")
    return wrong


def drawn(address):
    return unquote(address.partition(",")[2])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_law_every_stored_picture_is_the_one_that_was_drawn_and_a_chapter_has_some(path):
    found = pages(path)
    assert found or not path.stem[0].isdigit()
    assert [fault for page in found for fault in faults(page)] == []


def picture(title):
    fig, ax = new_figure()
    ax.plot([1, 2, 3], [1, 3, 2])
    ax.set_title(title)
    return show_figure("1.1", fig)._repr_html_()


def sanitized(page):
    """Return the part of an output that nbval compares."""
    rules = configparser.RawConfigParser()
    rules.read(ROOT / "chapters" / "nbval_sanitize.cfg", "utf-8")
    for name in rules.sections():
        page = re.sub(rules.get(name, "regex"), rules.get(name, "replace"), page)
    return page


def test_law_of_a_claim_the_words_and_the_bound_are_compared_and_the_value_is_not():
    said = sanitized("✓ share, 3 seeds: **0.47** (the book says below 0.5)")
    assert sanitized("✓ share, 3 seeds: **0.2 to 0.4, 3 values** (the book says below 0.5)") == said
    assert sanitized("✓ share, 3 seeds: **0.47** (the book says below 0.6)") != said
    assert sanitized("✓ share, 4 seeds: **0.47** (the book says below 0.5)") != said
    assert sanitized("✓ parameters: **47** (exactly)") != sanitized("✓ parameters: **48** (exactly)")


def test_law_nbval_compares_everything_around_a_picture_but_not_its_bytes():
    one, two = picture("one"), picture("two")
    other_image = one.replace(*(re.search(r"<img[^>]*>", page)[0] for page in (one, two)))
    other_words = one.replace('data-words="', 'data-words="0')
    for changed in (other_image, other_words, one.replace("Figure 1.1", "Figure 1.2")):
        assert sanitized(changed) != sanitized(one)
    bytes_changed = re.sub(r"(svg\+xml,[^\"]{50})[^\"]{100}", r"\1" + "A" * 100, one)
    bytes_changed = re.sub(r'data-drawn="\w+', 'data-drawn="01234567', bytes_changed)
    assert bytes_changed != one
    assert sanitized(bytes_changed) == sanitized(one)
    assert faults(one) == []
    assert all(map(faults, (bytes_changed, other_words)))
