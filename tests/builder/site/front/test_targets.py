"""Links from the appendices to the chapters."""

from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

from builder.site.front.statements import Correction
from builder.site.front.targets import Target, claims, link_all, read_targets
from tests.targets import CHAPTERS, NOTEBOOKS, OFFERED, faults, rendered_faults


def test_law_each_claim_that_a_chapter_offers_says_what_it_measures():
    for number, offered in OFFERED.items():
        assert set(claims(NOTEBOOKS[number])) == {name for name in offered if name.startswith("claim-")}


def test_law_links_are_grouped_by_chapter_and_say_what_a_claim_measures():
    shown = "4#eq-ratio 3#why-sqrt 4#figure-4-1 4#claim-wrong-bnm 8#ex-predict-origin".split()
    page = "/chapters/04_self_attention.ipynb"
    assert link_all(read_targets([*shown, "4#figure-4-1 a map"]), CHAPTERS) == (
        f"Chapter 4: equation {{eq}}`eq-ratio`; [figure 4.1]({page}#figure-4-1); [torch.bnm exists]"
        f"(/handbook/04_self_attention.ipynb#claim-wrong-bnm); [a map]({page}#figure-4-1). "
        "Chapter 3: {ref}`why-sqrt`. Chapter 8: {ref}`ex-predict-origin`."
    )


def row(*shown: str) -> Correction:
    """Return a row that links to these targets."""
    return Correction(1, "code", "wrong", "A.", "B.", read_targets(shown))


def test_law_a_row_that_leads_nowhere_is_reported(tmp_path: Path):
    assert faults(row("4#claim-copies")) == []
    assert faults(row("4#claim-none")) == ["chapter 4 has no claim-none"]
    assert faults(row("99#claim-copies")) == ["there is no chapter 99"]
    assert faults(row()) == ["shown nowhere"]
    for name in ("04_self_attention", "index"):
        (tmp_path / f"{name}.html").write_text('<p id="claim-copies">', "utf-8")
    for link, fault in (
        ("04_self_attention.html#claim-copies", ""),
        ("04_self_attention.html#claim-none", " leads to nothing"),
        ("index.html#claim-copies", " leads to another page than "),
    ):
        page = f'<body><table><tbody><tr><td><a href="{link}">a</a></td></tr></tbody></table>'
        found = rendered_faults(page, [row("4#claim-copies")], tmp_path)
        assert [complaint.startswith(link + fault) for complaint in found] == [True] * bool(fault)


@pytest.mark.message
def test_message_a_target_without_a_chapter():
    assert read_targets(["4#claim-mean its text"]) == (Target(4, "claim-mean", "its text"),)
    with pytest.raises(ExtensionError, match=r"'claim-mean' is not a target; write CHAPTER#ANCHOR"):
        read_targets(["claim-mean"])
