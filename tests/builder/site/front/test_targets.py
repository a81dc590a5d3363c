"""Links from the appendices to the chapters."""

import pytest
from sphinx.errors import ExtensionError

from builder.site.front.targets import Target, claims, link_all, read_targets
from tests.targets import CHAPTERS, NOTEBOOKS, OFFERED


def test_law_each_claim_that_a_chapter_offers_says_what_it_measures():
    for number, offered in OFFERED.items():
        assert set(claims(NOTEBOOKS[number])) == {name for name in offered if name.startswith("claim-")}


def test_law_links_are_grouped_by_chapter_and_say_what_a_claim_measures():
    shown = "4#eq-ratio 3#why-sqrt 4#figure-4-1 4#claim-sigma 8#ex-predict-origin".split()
    page = "/chapters/04_self_attention.ipynb"
    assert link_all(read_targets([*shown, "4#figure-4-1 a map"]), CHAPTERS) == (
        f"Chapter 4: equation {{eq}}`eq-ratio`; [figure 4.1]({page}#figure-4-1); "
        "[logistic weights and double softmax: largest errors]"
        f"(/handbook/04_self_attention.ipynb#claim-sigma); [a map]({page}#figure-4-1). "
        "Chapter 3: {ref}`why-sqrt`. Chapter 8: {ref}`ex-predict-origin`."
    )


@pytest.mark.message
def test_message_a_target_without_a_chapter():
    assert read_targets(["4#claim-mean its text"]) == (Target(4, "claim-mean", "its text"),)
    with pytest.raises(ExtensionError, match=r"'claim-mean' is not a target; write CHAPTER#ANCHOR"):
        read_targets(["claim-mean"])
