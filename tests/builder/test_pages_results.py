"""What a chapter's page shows of its proof: one line for each section, which counts it."""

import pytest
from bs4 import BeautifulSoup

from builder.chapters import read_source
from builder.results import checks_in
from tests.targets import HTML, NOTEBOOKS, SOURCES

pytestmark = pytest.mark.page


@pytest.mark.parametrize("number", NOTEBOOKS, ids=lambda number: SOURCES[number].stem)
def test_law_a_page_shows_each_result_below_one_line_of_its_section_and_nothing_else_of_its_proof(number):
    page = BeautifulSoup((HTML / f"{SOURCES[number].stem}.html").read_text("utf-8"), "html.parser")
    (article,) = page.select("article")
    cells = [cell for cell in read_source(SOURCES[number]).cells if cell.cell_type == "code"]
    own = [cell for cell in cells if not {"exercise", "solution"} & set(cell.metadata.get("tags", []))]
    claims = [name for cell in own for name in cell.metadata.get("claims", [])]
    checks = sum(len(list(checks_in(cell.source))) for cell in own)
    lines = article.select("details.at-evidence > summary")
    counts = [int(line.get_text().split()[1]) for line in lines]
    *sections, summary = [line.parent["id"] for line in lines]
    assert sections == [f"evidence-{place}" for place in range(1, len(lines))]
    assert summary == "evidence"
    assert counts[-1] == sum(counts[:-1]) == len(claims) + checks
    shown = [anchor["id"] for anchor in article.select(".at-evidence a.at-claim")]
    assert shown == [f"claim-{name}" for name in claims]
    assert len(article.select(".at-claim")) == len(claims)
    for fold in article.select("details"):
        fold.extract()
    words = article.get_text()
    assert "✓" not in article.select_one("section#what-we-showed").get_text()
    assert "✗ Not yet" not in words
    assert "checks.check_" not in words


@pytest.mark.parametrize("number", NOTEBOOKS, ids=lambda number: SOURCES[number].stem)
def test_law_a_page_has_one_fold_of_code_at_its_end_and_none_before_its_first_picture(number):
    page = BeautifulSoup((HTML / f"{SOURCES[number].stem}.html").read_text("utf-8"), "html.parser")
    (article,) = page.select("article")
    assert article.select("figure.at-figure, details")[0].name == "figure"
    assert not article.select("details.hide")
    (code,) = article.select("details.at-page-code")
    assert not code.find_next("section")
    figures = [figure["id"].replace("figure", "code") for figure in article.select("figure.at-figure")]
    anchors = {anchor["id"] for anchor in code.select("p.at-of-figure")}
    assert anchors <= set(figures)
    assert len(figures) - len(anchors) <= 2  # their code is visible beside them
