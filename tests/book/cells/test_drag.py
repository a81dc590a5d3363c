"""A figure to drag computes what the package computes, without a kernel, and follows keys and mouse."""

import json
import re
from importlib.resources import files

import pytest
import torch
from py_mini_racer import MiniRacer

from annotated_transformer.book.cells.drag import DragQuery, DragScores, drag_output
from annotated_transformer.model.attention import ScaledDotProductAttention, attention_weights
from tests.drawings import texts

ALT = "A plane with keys and a query, and bars of weights </script>"
SCORES = DragScores({"the": 0.0, "river": 2.0, "bank": -1.0})
QUERY = DragQuery(
    query=[0, 2, 1, 0],
    keys={"the": [0, 0, 0, 2], "river": [2, 4, 0, 0], "bank": [2, 1, 1, 0]},
    values={"bank": [5, 5], "the": [0, 0], "river": [10, 1]},
    axes=(1, 2),
    features=("landscape", "money"),
    outputs=("water", "cash"),
)


def page(drag, number="3.1"):
    return drag_output(drag, number=number, title="A query", alt=ALT, caption="Drag it.")._repr_html_()


def attend(query):
    keys = torch.tensor(list(QUERY.keys.values())).double()
    values = torch.tensor([QUERY.values[name] for name in QUERY.keys]).double()
    q = torch.tensor([query]).double()
    return attention_weights(q, keys)[0], ScaledDotProductAttention()(q, keys, values)[0]


def test_law_the_script_computes_the_attention_of_the_package():
    racer, rng = MiniRacer(), torch.Generator().manual_seed(0)
    racer.eval("var document = { querySelectorAll: () => [] };")
    racer.eval(files("annotated_transformer.book.cells").joinpath("drag.js").read_text("utf-8"))
    for keys, d_k, d_v in ((1, 1, 1), (3, 2, 5), (4, 4, 2), (5, 64, 3)):
        for scale in (0, 1, 300):
            q, k = (scale * torch.randn(n, d_k, generator=rng).double() for n in (1, keys))
            v = torch.randn(keys, d_v, generator=rng).double()
            arguments = json.dumps([q[0].tolist(), k.tolist(), v.tolist()])
            found = json.loads(racer.eval(f"JSON.stringify(atAttend(...{arguments}))"))
            weights = attention_weights(q, k)[0]
            torch.testing.assert_close(torch.tensor(found["weights"]).double(), weights)
            output = ScaledDotProductAttention()(q, k, v)[0]
            torch.testing.assert_close(torch.tensor(found["output"]).double(), output)
            scores = json.dumps(found["scores"])
            assert json.loads(racer.eval(f"JSON.stringify(atSoftmax({scores}))")) == found["weights"]


def test_law_without_a_script_the_picture_shows_the_numbers_of_the_start():
    weights, output = attend(QUERY.query)
    found = texts(QUERY.draw())
    rows = [f"{weight:.2f}" for weight in weights.tolist()]
    assert [text for text in found if text in rows] == rows
    assert "output: water {:.1f}, cash {:.1f}".format(*output.tolist()) in found
    softmax = torch.tensor([0.0, 2.0, -1.0]).softmax(dim=0).tolist()
    assert {"2.00", "−1.00", *(f"{weight:.2f}" for weight in softmax)} <= set(texts(SCORES.draw()))


@pytest.mark.parametrize(
    "drag",
    [
        DragScores({"a": 0.0}),
        DragScores({str(n): 9.0 * n for n in range(5)}),
        DragQuery([0, 0], {"a": [0, 0]}, {"a": [0, 0]}, (0, 1), ("x", "y"), ("u", "v")),
        DragQuery(
            [-9, 3], {"a": [-50, 2], "b": [1, -3]}, {"a": [-7, 4], "b": [1, 2]}, (1, 0), *[("x", "y")] * 2
        ),
    ],
)
def test_law_other_numbers_are_drawn_within_the_edges(drag):
    texts(drag.draw())
    assert 'class="at-figure at-drag"' in page(drag)


@pytest.mark.message
def test_message_words_are_checked_as_for_a_figure():
    with pytest.raises(ValueError, match="is not a title"):
        drag_output(SCORES, number="3.1", title="A query.", alt=ALT, caption="Drag it.")


@pytest.fixture
def tab(tab):
    tab.set_viewport_size({"width": 500, "height": 1200})
    return tab


def drawn(tab, number=0):
    return tab.locator("figure.at-drag").nth(number).locator("svg text").all_text_contents()


@pytest.mark.page
def test_law_the_script_draws_what_python_draws(tab):
    tab.set_content(page(SCORES) + page(QUERY, "3.2"))
    for number, drag in enumerate((SCORES, QUERY)):
        assert sorted(drawn(tab, number)) == sorted(filter(None, texts(drag.draw())))


@pytest.mark.page
def test_law_arrow_keys_move_the_query_and_the_weights_follow(tab):
    tab.set_content(page(QUERY))
    query = tab.get_by_role("slider", name="query")
    query.focus()
    for key in ["ArrowUp"] * 6 + ["ArrowLeft"] * 3 + ["ArrowDown", "ArrowRight"]:
        tab.keyboard.press(key)
    weights, output = attend([0, 1.5, 2.25, 0])
    found = drawn(tab)
    rows = [f"{weight:.2f}" for weight in weights.tolist()]
    assert [text for text in found if text in rows] == rows
    said = "water {:.1f}, cash {:.1f}".format(*output.tolist())
    assert f"output: {said}" in found
    announced = query.get_attribute("aria-valuetext")
    assert announced.startswith("landscape 1.50, money 2.25; most weight on river, ")
    assert announced.endswith(said)
    tab.get_by_role("button", name="Back to the start").click()
    assert sorted(drawn(tab)) == sorted(filter(None, texts(QUERY.draw())))


@pytest.mark.page
def test_law_a_score_is_dragged_by_mouse_and_by_keys_up_to_its_limits(tab):
    tab.set_content(page(SCORES))
    river, bank = (tab.get_by_role("slider", name=f"score of {name}") for name in ("river", "bank"))
    box = river.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x, y - 300)
    tab.mouse.up()
    tab.mouse.move(x, y + 300)  # released
    assert river.get_attribute("aria-valuenow") == "4"
    bank.press("ArrowUp")
    weights = [f"{w:.2f}" for w in torch.tensor([0.0, 4.0, -0.75]).softmax(dim=0).tolist()]
    assert bank.get_attribute("aria-valuetext") == f"−0.75; weight {weights[2]}"
    assert set(weights) <= set(drawn(tab))
    bank.press("Home")
    assert bank.get_attribute("aria-valuenow") == "-1"
    for _ in range(30):
        bank.press("ArrowDown")
    assert bank.get_attribute("aria-valuenow") == "-4"


@pytest.mark.page
def test_law_figures_inserted_after_page_load_move_independently(tab, insert):
    for number in ("3.1", "3.2"):
        tab.evaluate(insert, page(SCORES, number))
    tab.get_by_role("slider", name="score of the").last.press("ArrowUp")
    assert [("0.25" in drawn(tab, number)) for number in (0, 1)] == [False, True]
    assert tab.locator(".at-controls").count() == 2


@pytest.mark.page
def test_law_handles_are_large_enough_for_touch_and_fit_a_phone(tab):
    tab.set_viewport_size({"width": 360, "height": 780})
    tab.set_content(f"<style>* {{ box-sizing: border-box }} figure {{ margin: 0 }}</style>{page(QUERY)}")
    for across, up, inside in ((20, 0, True), (0, -20, True), (40, 0, False)):
        hit = tab.evaluate(
            """([across, up]) => {
              const box = document.querySelector("[role=slider]").getBoundingClientRect();
              const [x, y] = [box.x + box.width / 2 + across, box.y + box.height / 2 + up];
              return document.elementFromPoint(x, y).getAttribute("role") === "slider";
            }""",
            [across, up],
        )
        assert hit is inside
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.page
def test_law_without_javascript_the_start_is_an_image(browser):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.set_content(page(QUERY))
    assert tab.get_by_role("img", name=re.compile("A plane with keys")).is_visible()
    assert tab.locator("[role=slider], button").count() == 0
    context.close()
