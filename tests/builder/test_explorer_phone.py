"""The explorer page on a phone: the table of formulas, and what the tour covers."""

import itertools

import pytest
from playwright.sync_api import Page

from builder.explorer import bundle
from tests.axe import violations
from tests.explorer_pages import ADDRESS, IDLE, PHONE, WIDE, eventually

pytestmark = pytest.mark.page
ROWS = len(bundle.kinds())
LONG = "She told me that she was afraid, because her old brother did not want to come to the garden tomorrow."


@pytest.fixture
def phone(open_page):
    page = open_page(ADDRESS, viewport=PHONE, reduced_motion="reduce")
    page.wait_for_selector(".at-x-formulas mjx-container")
    page.evaluate(IDLE)
    return page


BOXES = """[...document.querySelectorAll('.at-x-formulas tbody tr')].map(row => [...row.cells].map(cell => {
  const { left, right, top, bottom } = cell.getBoundingClientRect();
  return [left, right, top, bottom];
}))"""


def test_law_the_table_of_formulas_fits_a_phone_and_stays_a_table(phone):
    for row in phone.evaluate(BOXES):
        for above, below in itertools.pairwise(row):
            assert above[3] <= below[2]
        assert all(0 <= left < right <= PHONE["width"] for left, right, _, _ in row)
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    cut = phone.evaluate(
        "[...document.querySelectorAll('.at-x-formulas :is(p, code, a, mjx-container):not(.at-wide *)')]"
        f".filter(part => part.getBoundingClientRect().right > {PHONE['width']}).map(part => part.outerHTML)"
    )
    assert cut == []
    table = phone.locator(".at-x-formulas")
    for role, count in (("row", ROWS + 1), ("columnheader", 4), ("cell", 4 * ROWS), ("rowgroup", 2)):
        assert table.get_by_role(role).count() == table.locator(f"[role={role}]").count() == count
    assert table.get_by_role("columnheader").all_inner_texts()[1] == "Formula"
    assert violations(phone, ".at-x-formulas") == []
    assert phone.locator(".at-x-formulas .at-wide").count() == 0
    phone.resize(width=170, height=PHONE["height"])  # as wide as a phone whose text is enlarged
    formula = phone.locator(".at-x-formulas .at-wide[tabindex='0']").first
    formula.focus()
    hidden = "x => x.scrollWidth - x.clientWidth - x.scrollLeft"
    before = formula.evaluate(hidden)
    assert before > 10
    phone.keyboard.press("ArrowRight")
    phone.evaluate("document.querySelector('article').append('more '.repeat(99))")  # all are measured again
    phone.wait_for_function(f"({hidden})(document.activeElement) < {before - 10}")  # that did not stop it
    for _ in range(20):
        phone.keyboard.press("ArrowRight")
    phone.wait_for_function(f"({hidden})(document.activeElement) < 2")
    assert formula.evaluate("x => getComputedStyle(x).overflowY") == "hidden"
    phone.resize(**WIDE)
    for row in phone.evaluate(BOXES):
        for left, right in itertools.pairwise(row):
            assert left[1] <= right[0]


def test_law_nothing_covers_the_tour(phone):
    phone.click("[data-key=tour]")
    phone.wait_for_selector(".at-x-tour h3", timeout=60_000)
    eventually(phone.focused, "Next")
    phone.evaluate("document.querySelector('#pst-back-to-top').style.display = 'block'")  # as the theme does
    assert phone.locator("#pst-back-to-top").is_hidden()
    phone.click("[data-key=end]")
    phone.wait_for_selector(".at-x-tour", state="hidden")
    assert phone.locator("#pst-back-to-top").is_hidden()  # the button does not cover the controls either
    phone.resize(width=800, height=PHONE["height"])
    phone.evaluate("document.querySelector('#pst-back-to-top').style.display = 'block'")
    assert phone.locator("#pst-back-to-top").is_visible()


def top(page: Page, place: str) -> float:
    return page.locator(place).first.evaluate("x => x.getBoundingClientRect().top")


def test_law_a_new_translation_and_its_explanation_scroll_into_view(phone):
    phone.fill(".at-x-field input", LONG)
    assert top(phone, ".at-x-stage") < PHONE["height"]  # the picture begins on the first screen
    phone.translate()
    assert 0 <= top(phone, ".at-x-main .at-x-translation") < PHONE["height"] / 2
    assert top(phone, ".at-x-stage") < top(phone, ".at-x-why") < top(phone, ".at-x-choose")
    option = phone.locator(".at-x-option").nth(1)
    option.scroll_into_view_if_needed()
    before = top(phone, ".at-x-option")
    option.click()
    phone.wait_for_selector("[data-key=undo]")
    phone.ready()
    assert top(phone, ".at-x-option") == pytest.approx(before, abs=1)  # a second press hits the same token
    phone.resize(**WIDE)
    phone.focus("[data-key='query 0']")
    phone.keyboard.press("End")
    for _ in range(4):
        phone.click("[data-key='One token back']")
        for place in (".at-x-queries .at-active", ".at-x-why h3"):
            assert 60 <= top(phone, place) < WIDE["height"]
