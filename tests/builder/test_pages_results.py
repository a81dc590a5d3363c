"""What a chapter's page shows of its proof: one line for each section, which counts it."""

import lxml.html
import pytest
from lxml.html import HtmlElement

from builder.chapters import read_source
from builder.claim_values import checks_in
from tests.targets import HTML, NOTEBOOKS, SOURCES

pytestmark = pytest.mark.page
UNFOLDED = ".//text()[not(ancestor::details or ancestor::script or ancestor::style)]"


def article_of(number: int) -> HtmlElement:
    (article,) = lxml.html.parse(HTML / f"{SOURCES[number].stem}.html").iter("article")
    return article


@pytest.mark.parametrize("number", NOTEBOOKS, ids=lambda number: SOURCES[number].stem)
def test_law_a_page_shows_each_result_below_one_line_of_its_section_and_nothing_else_of_its_proof(number):
    article = article_of(number)
    cells = [cell for cell in read_source(SOURCES[number]).cells if cell.cell_type == "code"]
    own = [cell for cell in cells if not {"exercise", "solution"} & set(cell.metadata.get("tags", []))]
    claims = [name for cell in own for name in cell.metadata.get("claims", [])]
    checks = sum(len(list(checks_in(cell.source))) for cell in own)
    lines = [line for box in article.find_class("at-evidence") for line in box.findall("summary")]
    counts = [int(line.text_content().split()[1]) for line in lines]
    *sections, summary = [line.getparent().get("id") for line in lines]
    assert sections == [f"evidence-{place}" for place in range(1, len(lines))]
    assert summary == "evidence"
    assert counts[-1] == sum(counts[:-1]) == len(claims) + checks
    shown = [claim for box in article.find_class("at-evidence") for claim in box.find_class("at-claim")]
    assert [claim.get("id") for claim in shown] == [f"claim-{name}" for name in claims]
    assert len(article.find_class("at-claim")) == len(claims)
    words = "".join(article.xpath(UNFOLDED))
    assert "✓" not in "".join(article.get_element_by_id("what-we-showed").xpath(UNFOLDED))
    assert "✗ Not yet" not in words
    assert "checks.check_" not in words


@pytest.mark.parametrize("number", NOTEBOOKS, ids=lambda number: SOURCES[number].stem)
def test_law_a_page_has_one_fold_of_code_at_its_end_and_none_before_its_first_picture(number):
    article = article_of(number)
    figures = [figure for figure in article.iter("figure") if "at-figure" in figure.classes]
    assert (
        article.xpath("descendant::figure[contains(@class, 'at-figure')] | descendant::details")[0]
        is figures[0]
    )
    assert not [fold for fold in article.iter("details") if "hide" in fold.classes]
    (code,) = article.find_class("at-page-code")
    assert not code.xpath("descendant::section | following::section")
    anchors = {anchor.get("id") for anchor in code.find_class("at-of-figure")}
    assert anchors <= {figure.get("id").replace("figure", "code") for figure in figures}
    assert len(figures) - len(anchors) <= 2  # their code is visible beside them
