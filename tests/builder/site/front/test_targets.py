"""Links from the appendices to written and planned chapters."""

import re

import pytest
from sphinx.errors import ExtensionError

from builder.chapters import Chapter
from builder.site.front.corrections import Correction
from builder.site.front.targets import Target, claims, link_all, read_targets
from tests.targets import CHAPTERS, NOTEBOOKS, OFFERED, ROOT, faults, rendered_faults

LATER = Chapter(99, "P", "Later", "When?")
PLANNED = {**CHAPTERS, 99: LATER}


def row(*shown: str, planned: int = 0) -> Correction:
    """Return a row that links to these targets."""
    return Correction(1, "code", "wrong", "A.", "B.", read_targets(shown), planned)


def test_law_each_claim_that_a_chapter_offers_says_what_it_measures():
    for number, offered in OFFERED.items():
        assert set(claims(NOTEBOOKS[number])) == {name for name in offered if name.startswith("claim-")}


def test_law_links_are_grouped_by_chapter():
    targets = read_targets(
        ["4#eq-ratio", "3#why-sqrt", "4#figure-4-1 a map", "4#figure-4-1", "8#ex-predict-origin"]
    )
    assert link_all(targets[:4], CHAPTERS, ROOT) == (
        "Chapter 4: equation {eq}`eq-ratio`; [a map](/chapters/04_self_attention.ipynb#figure-4-1); "
        "[figure 4.1](/chapters/04_self_attention.ipynb#figure-4-1). Chapter 3: {ref}`why-sqrt`."
    )
    assert link_all(targets[4:], CHAPTERS, ROOT) == "Chapter 8: {ref}`ex-predict-origin`."


def test_law_links_show_what_a_claim_measures_or_the_title_of_a_section():
    assert link_all(read_targets(["4#claim-wrong-bnm"]), CHAPTERS, ROOT) == (
        "Chapter 4: [torch.bnm exists](/chapters/04_self_attention.ipynb#claim-wrong-bnm)."
    )
    assert link_all(read_targets(["8#an-offset-is-a-rotation"]), CHAPTERS, ROOT) == (
        "Chapter 8: [An offset is a rotation]"
        "(/chapters/08_positional_encoding.ipynb#an-offset-is-a-rotation)."
    )


def test_law_a_question_keeps_its_mark_and_gets_no_full_stop():
    (question, plain) = read_targets(["9#an-experiment-layernorm-or-batchnorm", "9#by-hand-on-one-token"])
    page = "/chapters/09_add_and_norm.ipynb"
    asked = f"[An experiment: LayerNorm or BatchNorm?]({page}#{question.anchor})"
    told = f"[By hand, on one token]({page}#{plain.anchor})"
    assert link_all([question], CHAPTERS, ROOT) == f"Chapter 9: {asked}"
    assert link_all([question, plain], CHAPTERS, ROOT) == f"Chapter 9: {asked}; {told}."


def test_law_a_planned_chapter_is_named_once_and_linked_as_soon_as_it_is_written():
    targets = read_targets(["99#figure-99-1 a comet", "3#figure-3-1", "99#eq-comet"])
    link = "Chapter 3: [figure 3.1](/chapters/03_scaled_dot_product_attention.ipynb#figure-3-1)."
    assert link_all(targets, PLANNED, ROOT) == f"Later (chapter 99, planned). {link}"
    assert link_all(targets[1:2], PLANNED, ROOT, planned=99) == f"{link} Later (chapter 99, planned)."
    written = {**CHAPTERS, 99: Chapter(99, "P", "Later", "When?", file="chapters/99_later")}
    assert link_all(targets, written, ROOT) == (
        f"Chapter 99: [a comet](/chapters/99_later.ipynb#figure-99-1); equation {{eq}}`eq-comet`. {link}"
    )


def test_law_a_missing_target_is_reported():
    assert faults(row()) == ["neither shown nor planned"]
    for shown in ("4#claim-nothing", "4#figure-4-99", "4#eq-nothing", "4#no-such-section"):
        assert faults(row(shown)) == [f"chapter 4 has no {shown[2:]}"]
    assert faults(row("99#claim-mean")) == ["there is no chapter 99"]
    for planned in (4, 99):
        assert len(faults(row(planned=planned))) == 1, planned
    good = ["4#claim-mean", "4#figure-4-1", "4#eq-ratio", "4#ex-circle", "3#why-sqrt", "3#common-mistakes"]
    assert faults(row(*good)) == []


PAGE = (
    "<body><table><thead><tr><th></th></tr></thead><tbody>"
    '<tr><td><a href="#x">x</a></td><td><a href="LINK">y</a></td></tr></tbody></table>'
)


def test_law_a_link_is_followed_in_the_rendered_page(tmp_path):
    (tmp_path / "04_self_attention.html").write_text('<p id="claim-mean">', "utf-8")
    (tmp_path / "index.html").write_text('<p id="claim-mean">', "utf-8")

    def found(link: str, page: str = PAGE) -> list[str]:
        wrong = rendered_faults(page.replace("LINK", link), [row("4#claim-mean")], tmp_path)
        return [re.sub(r"\w+\(.*\)", "IT", complaint) for complaint in wrong]

    good = "04_self_attention.html#claim-mean"
    assert found(good) == []
    assert found(good + "s") == [f"{good}s leads to nothing"]
    assert found("index.html#claim-mean") == ["index.html#claim-mean leads to another page than IT"]
    assert found("04_self_attention.html") == ["04_self_attention.html leads to another page than IT"]
    assert found(good, PAGE.replace("href", "title")) == ["IT: 0 links instead of 1"]
    assert found(good, "<body>") == ["0 rows instead of 1"]


@pytest.mark.message
def test_message_a_target_without_a_chapter():
    assert read_targets(["4#claim-mean its text"]) == (Target(4, "claim-mean", "its text"),)
    with pytest.raises(ExtensionError, match=r"'claim-mean' is not a target; write CHAPTER#ANCHOR"):
        read_targets(["claim-mean"])
