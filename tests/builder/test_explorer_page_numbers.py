"""The explorer page: tensors, their numbers, and the tour."""

import re

import pytest
from playwright.sync_api import Page

from annotated_transformer.book.explorer import first_frame
from annotated_transformer.decoding.translator import Translator
from tests.explorer_pages import EXPLAINED, FRAME, LINK, NO, PRESS, SURE, TOUR, WIDE, eventually

pytestmark = pytest.mark.page
LOGIT = "logits", "5.1248"
OPENED = {  # a tensor of each kind, and an index in it
    "encoder.embedding": "3.7",
    "encoder.positions": "3.7",
    "decoder.embedded": "2.9",
    "encoder.layers.0.self_attention.query": "1.3.7",
    "decoder.layers.2.self_attention.scores": "1.3.2",
    "decoder.layers.3.self_attention.scores": "1.2.3",  # masked
    "decoder.layers.3.cross_attention.weights": "2.5.6",
    "decoder.layers.3.cross_attention.heads": "4.5.6",
    "decoder.layers.1.cross_attention.output": "4.50",
    "encoder.layers.3.add_norm_2.sum": "8.159",
    "decoder.layers.3.add_norm_3": "9.0",
    "decoder.layers.0.feed_forward.expand": "0.511",
    "decoder.layers.0.feed_forward.activation": "0.511",
    "decoder.layers.0.feed_forward.contract": "1.1",
    "logits": "5.1248",
    "probabilities": "5.1248",
}


def test_law_a_number_is_the_result_of_its_formula(fresh):
    for name, index in OPENED.items():
        fresh.explain(name, index)
        fresh.wait_for_function("name => location.hash.includes(`tensor=${name}&`)", arg=name)
        shown = fresh.inner_text(".at-x-number h4 b")
        assert fresh.inner_text(".at-x-same b") == shown, name
        written = fresh.locator(".at-x-grid [aria-selected=true]").inner_text()
        assert as_number(written) == pytest.approx(as_number(shown), rel=1e-2, abs=1e-3), name
        if re.search("sum$|embedded|query|heads|output|expand|contract|logits|embedding", name):
            lines = fresh.locator(".at-x-sum tr:not(.at-x-total) > :last-child").all_inner_texts()
            assert sum(map(as_number, lines)) == pytest.approx(as_number(shown), rel=1e-2, abs=5e-3), name
        assert fresh.locator(".at-x-number .at-x-formula mjx-container").count() == 1, name
        fresh.locator(".at-x-number dl a").first.wait_for()


def as_number(text: str) -> float:
    text = text.replace("−", "-").replace("∞", "inf")
    mantissa, _, power = text.partition("·10")
    raised = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float(mantissa) * 10 ** int(raised or 0)


def test_law_arrow_keys_with_a_modifier_are_left_to_the_browser(fresh):
    fresh.explain(*LOGIT)
    address = fresh.url
    for place in (".at-x-grid [aria-selected=true]", "[data-key='query 5']"):
        for modifier in ("altKey", "ctrlKey", "metaKey"):
            event = f'"keydown", {{ key: "ArrowLeft", bubbles: true, cancelable: true, {modifier}: true }}'
            pressed = f"x => x.dispatchEvent(new KeyboardEvent({event}))"
            assert fresh.locator(place).evaluate(pressed)  # not canceled
    assert fresh.url == address


def test_law_vocabulary_columns_have_distinguishable_names(fresh):
    assert Translator.from_pretrained("en-de").tokenizer.tokens([263, 319]) == ["in", " in"]
    for token, shown in ((263, "+in"), (319, "in")):
        fresh.explain("logits", f"5.{token}")
        eventually(lambda token=token: fresh.inner_text(f".at-x-top-name [title='token {token}']"), shown)
        fresh.locator(".at-x-number .at-x-label", has_text=f"token {shown}.").wait_for()
    fresh.go(f"{LINK}&tensor=logits&at=5.0")  # padding, whose logit is not a sum of products
    fresh.locator(".at-x-sum", has_text="Padding").wait_for()
    assert fresh.locator(".at-x-number :is(.at-x-same, .at-x-formula)").count() == 0


def test_law_large_tensors_render_only_the_visible_cells_and_can_be_crossed_by_keyboard(fresh):
    fresh.explain(*LOGIT)
    assert fresh.get_attribute(".at-x-grid", "aria-colcount") == "6001"
    assert fresh.locator(".at-x-grid [role=gridcell]").count() < 600
    fresh.focus(".at-x-grid [aria-selected=true]")
    for key, place in (("End", "5.5999"), ("ArrowUp", "4.5999"), ("Home", "4.0"), ("ArrowRight", "4.1")):
        fresh.keyboard.press(key)
        fresh.wait_for_function("place => location.hash.endsWith(`at=${place}`)", arg=place)
        assert fresh.evaluate("document.activeElement.getAttribute('aria-selected')") == "true"
    fresh.evaluate("document.querySelector('.at-x-grid').scrollLeft = 200000")
    column = 200000 // 62 + 2
    fresh.wait_for_selector(f".at-x-grid [role=gridcell][aria-colindex='{column}']")
    shown = fresh.eval_on_selector_all(".at-x-grid [role=gridcell]", "all => all.map(x => +x.ariaColIndex)")
    assert len(shown) < 600
    assert min(shown) < column < max(shown)
    assert fresh.locator(".at-x-overview-words + .at-x-overview").is_visible()
    fresh.locator("[data-key='map decoder 0']").check(force=True)
    fresh.locator(".at-x-section").last.evaluate("part => { part.open = true; }")
    fresh.click("[data-key='decoder.layers.0.cross_attention.weights']")
    eventually(lambda: fresh.get_attribute(".at-x-grid", "aria-colcount"), "10")
    row = fresh.locator(".at-x-grid [role=row]", has=fresh.locator("[aria-selected=true]"))
    weights = [float(weight) for weight in row.locator("[role=gridcell]").all_inner_texts()]
    assert float(row.locator("[aria-selected=true]").inner_text()) == max(weights)  # not simply the first
    assert weights[0] < max(weights)


def test_law_a_number_belongs_to_the_translation_that_is_shown(moving, faults: list[str]):
    moving.explain("decoder.layers.3.cross_attention.heads", "0.1.1")
    moving.evaluate(PRESS, ["head cross 3 0"])
    moving.locator(".at-x-queries:not(:has(button)) li").first.wait_for()
    moving.evaluate(PRESS, ["cell 1 2"])  # the engine now holds another translation
    shown = moving.wait_for_function(
        """() => document.querySelector(".at-x-number .at-x-label").textContent.includes("feature 2") && [
          document.querySelector(".at-x-number h4 b").textContent,
          document.querySelector(".at-x-grid [aria-selected=true]").textContent,
        ]"""
    ).json_value()
    assert as_number(shown[0]) == pytest.approx(as_number(shown[1]), rel=1e-2)
    moving.ready()
    moving.wait_for_function("document.querySelector('.at-x-number h4 b').textContent === '0'")
    assert faults == []


def test_law_the_words_of_the_tour_are_true(fresh):
    fresh.start_second_engine()
    found = fresh.evaluate(
        """async (text) => {
          const { attention, source } = await second.translate({ direction: "en-de", text });
          const hidden = await second.tensor("encoder.layers.0.feed_forward.activation");
          const silent = hidden.flatMap((row) => [...row]).filter((value) => value === 0).length;
          const rows = (map) => map.map((row) => Array.from(row));
          return {
            before: rows(attention.encoder[1][0]),
            kannst: rows(attention.cross[3][2])[7],
            tokens: source.tokens.length,
            silent: silent / hidden.length / hidden[0].length,
          };
        }""",
        first_frame.SENTENCE,
    )
    assert found["silent"] > 0.9  # nearly all hidden units
    reads = [row.index(max(row)) for row in found["before"]]
    assert sum(key == query - 1 for query, key in enumerate(reads)) > found["tokens"] / 2
    assert reads[4] == 3
    assert found["kannst"].index(max(found["kannst"])) == 4
    assert f"{found['tokens']} tokens".replace("9", "nine") in TOUR["steps"][5]["words"]


BOXES = """() => Object.fromEntries(Object.entries({
  cell: ".at-x-grid [aria-selected=true]", sum: ".at-x-sum", card: ".at-x-tour", choose: ".at-x-choose",
  heads: ".at-x-stage p",
}).map(([name, place]) => [name, document.querySelector(place)?.getBoundingClientRect().toJSON()]))"""


@pytest.mark.parametrize("size", [(1280, 900), (360, 780)], ids=["wide", "phone"])
def test_law_the_tour_shows_its_cell_and_calculation_above_its_card(fresh, size: tuple[int, int]):
    fresh.resize(*size)
    try:
        fresh.click("[data-key=tour]")
        for number, step in enumerate(TOUR["steps"], start=1):
            fresh.tour_says(number)
            box = fresh.evaluate(BOXES)
            if "tensor" in step["state"]:  # between the page's header and the card
                assert box["cell"]["top"] >= 60, number
                assert box["sum"]["bottom"] <= box["card"]["top"], number
            if step["part"] == "heat":
                grid = fresh.locator(".at-x-grid")
                rows = int(grid.get_attribute("aria-rowcount") or 0)
                assert grid.evaluate("x => x.clientHeight") >= 34 * min(rows, 10)
            if step["part"] in ("stage", "choose"):  # all of the curves, and what chooses them
                assert 60 <= box["heads"]["top"] < box["choose"]["top"], number
                assert box["choose"]["bottom"] <= box["card"]["top"], number
            assert box["card"]["height"] < 0.3 * size[1]
            if size[0] == 360:
                assert box["card"]["bottom"] == size[1]  # docked
            if number < len(TOUR["steps"]):
                fresh.keyboard.press("Enter")  # the focus is on "Next"
        assert fresh.inner_text(".at-x-number h4").startswith("Where does 2.2")
    finally:
        fresh.keyboard.press("Escape")
        fresh.resize(**WIDE)


def open_number(page: Page) -> None:
    page.click("[data-key='why number']")
    page.wait_for_selector(EXPLAINED)
    eventually(page.focused, "number")


def test_law_the_back_button_returns_from_an_operand(fresh):
    open_number(fresh)
    fresh.locator(".at-x-sum button").first.click()
    fresh.wait_for_function("location.hash.includes('tensor=logits')")
    eventually(fresh.focused, "number")
    assert fresh.inner_text("[data-key=back]").startswith("← Back to Probabilities")
    fresh.click("[data-key=back]")
    fresh.wait_for_function("location.hash.includes('tensor=probabilities')")
    fresh.wait_for_function(f"document.querySelector('.at-x-number h4').textContent.includes('{SURE:.2f}')")
    eventually(fresh.focused, "number")
    fresh.go_back()
    fresh.wait_for_function("!location.hash.includes('tensor')")
    eventually(fresh.focused, "query 5")
    assert fresh.locator(".at-x-heat").is_hidden()
    assert fresh.translation() == FRAME["text"]


def test_law_tensors_can_be_opened_while_a_translation_runs(fresh):
    with fresh.delayed("translate"):
        fresh.evaluate(PRESS, ["head cross 3 0", "encoder.positions", "logits"])
        names = fresh.evaluate("history.state.from.words")
        assert names.startswith("Encoder: positions, row “I”, feature 0")
    fresh.ready()
    fresh.wait_for_selector(EXPLAINED)
    assert fresh.inner_text("[data-key=back]") == f"← Back to {names}"
    assert "tensor=logits" in fresh.url


def test_law_the_previous_number_is_marked_busy_and_not_focused_until_the_next_is_explained(fresh):
    open_number(fresh)
    before = fresh.inner_text(".at-x-number h4")
    logit = [str(fresh.locator(".at-x-sum button").first.get_attribute("data-key"))]
    with fresh.delayed("provenance"):
        fresh.evaluate("document.activeElement.blur()")
        fresh.evaluate(PRESS, logit)
        fresh.locator(".at-x-heat-head", has_text="ogits").wait_for()
        fresh.evaluate(PRESS, logit)  # again, as its map is there and its number is not
        fresh.settle()
        assert fresh.get_attribute(".at-x-number", "aria-busy") == "true"
        assert fresh.inner_text(".at-x-number h4") == before
        assert fresh.focused() is None
    fresh.wait_for_selector(EXPLAINED)
    assert fresh.inner_text(".at-x-number h4") != before
    eventually(fresh.focused, "number")


def test_law_a_tour_ended_during_its_translation_restores_the_sentence(fresh):
    fresh.go("#direction=en-de&text=No.&layer=2&step=1")
    before, shown = fresh.url, fresh.inner_text(".at-x-main")
    with fresh.delayed("translate"):
        fresh.evaluate(PRESS, ["tour"])
        assert fresh.input_value(".at-x-field input") == FRAME["sentence"]
        fresh.keyboard.press("Escape")
    fresh.evaluate("document.querySelector('.at-x-off button').click()")  # runs after the tour's
    fresh.ready()
    assert fresh.translation() != FRAME["text"]
    fresh.press("all on")
    assert (fresh.url, fresh.inner_text(".at-x-main")) == (before, shown)
    assert fresh.input_value(".at-x-field input") == "No."
    assert fresh.locator(".at-x-tour").is_hidden()


def test_law_a_sentence_entered_during_the_tour_is_restored_when_the_tour_ends(fresh):
    fresh.click("[data-key=tour]")
    fresh.tour_says(1)
    fresh.fill(".at-x-field input", "No.")
    fresh.keyboard.press("Enter")
    eventually(fresh.translation, NO)
    fresh.ready()
    fresh.click("[data-key=Next]")
    fresh.tour_says(2)
    assert fresh.translation() == FRAME["text"]
    fresh.click("[data-key=end]")
    assert (fresh.translation(), fresh.input_value(".at-x-field input")) == (NO, "No.")


def test_law_escape_ends_the_tour_and_nothing_else(fresh):
    fresh.explain(*LOGIT)
    fresh.click("[data-key=tour]")
    fresh.tour_says(1)
    tour = fresh.locator(".at-x-tour")
    fresh.keyboard.press("Control+k")
    fresh.wait_for_selector("dialog[open]")
    fresh.keyboard.press("Escape")
    fresh.wait_for_selector("dialog[open]", state="detached")
    assert tour.is_visible()
    escape = """options => document.querySelector(".at-x-field input").dispatchEvent(
      new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true, ...options }))"""
    fresh.evaluate(escape, {"isComposing": True})
    assert tour.is_visible()
    fresh.evaluate(
        "addEventListener('keydown', event => event.preventDefault(), { once: true, capture: true })"
    )
    fresh.evaluate(escape, {})
    assert tour.is_visible()
    fresh.evaluate(escape, {})
    assert tour.is_hidden()
    assert fresh.locator(".at-x-number .at-x-same").is_visible()  # open before the tour
    fresh.keyboard.press("Escape")
    assert fresh.locator(".at-x-number .at-x-same").is_visible()


def test_law_a_tensor_named_in_a_link_is_scrolled_into_view(fresh):
    fresh.evaluate("scrollTo(0, 0)")
    fresh.go("#direction=en-de&text=No.&tensor=encoder.positions&at=1.3")
    fresh.wait_for_selector(EXPLAINED)
    fresh.wait_for_function("document.querySelector('.at-x-heat').getBoundingClientRect().top < 200")


@pytest.mark.parametrize(("call", "place"), [("tensor", ".at-x-heat"), ("provenance", ".at-x-number")])
def test_law_a_failed_call_is_reported_in_place_of_its_answer_and_does_not_stop_the_tour(fresh, call, place):
    alert = fresh.locator(f"{place} [role=alert]")
    with fresh.refused(call):
        fresh.go(f"{LINK}&tensor=encoder.positions&at=1.{len(call)}")
        assert alert.inner_text() == "the engine is away; try again"
    fresh.get_by_role("group", name="Layer").first.get_by_label("2").check(force=True)  # sends the call again
    fresh.wait_for_selector(EXPLAINED)
    eventually(alert.count, 0)
    assert fresh.locator(".at-x-grid [aria-selected=true]").is_visible()
    number = next(n for n, step in enumerate(TOUR["steps"], start=1) if "tensor" in step["state"])
    with fresh.refused(call):
        fresh.click("[data-key=tour]")
        for step in range(1, number):
            fresh.tour_says(step)
            fresh.click("[data-key=Next]")
        fresh.tour_says(number)
    assert fresh.locator(".at-x [role=alert]", has_text="the engine is away").is_visible()
