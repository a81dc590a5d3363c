"""A page judges an exercise's answers as its notebook does, and keeps them in the browser."""

from typing import Any

import pytest

from annotated_transformer.book.exercises.answers import Answer
from builder.site.fields import judged
from tests.declared import as_given
from tests.targets import SOURCES

pytestmark = pytest.mark.page

CHECKS = {path.stem: judged(path) for path in SOURCES.values()}
FIRST = "chapters/01_why_attention.html"
BOX = "#ex-predict-gradient"


def typed(value: Any) -> str:
    """Return a value as a reader may write it."""
    if isinstance(value, tuple):
        return str(value)
    if isinstance(value, list):
        rows = isinstance(value[0], list)
        return ("; " if rows else " ").join(map(typed, value))
    return str(value)


def unnamed(answer: Answer) -> Any:
    """Return an answer of the same kind that is neither right nor a mistake with a name."""
    if isinstance(answer.value, bool):
        return not answer.value
    if isinstance(answer.value, str):
        named = {answer.value, *answer.mistakes.values()}
        return next(text for text in (*answer.choices, "zebra") if text not in named)
    return {tuple: (1, 2, 3, 4, 5, 6), list: [7, 7]}.get(type(answer.value), 123_456.5)


def fill(box, values: dict[str, Any]) -> None:
    for name, value in values.items():
        field = box.get_by_label(name, exact=True)
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(str(value))
        else:
            field.fill(typed(value))


@pytest.mark.parametrize("page", CHECKS)
def test_law_a_page_judges_as_the_notebook_does(visitor, page):
    visitor.goto(f"chapters/{page}.html")
    for label, check in CHECKS[page].items():
        box, answers = visitor.locator(f"#{label} form"), check.asked()
        said = box.locator("> output")
        fill(box, {name: answer.value for name, answer in answers.items()})
        box.get_by_role("button", name="Check").click()
        assert box.locator(".at-bar output").text_content() == f"✓ All right: {as_given(check, {}).message}"
        for place, (name, answer) in enumerate(answers.items()):
            for wrong in (unnamed(answer), *(gives for gives, _ in answer.named())):
                fill(box, {name: wrong})
                box.get_by_label(name, exact=True).press("Enter")
                why = said.nth(place).text_content().removeprefix("✗ ")
                message = as_given(check, {name: wrong}).message
                assert why
                assert message.endswith(f"the answer is not {wrong}. {why}")
            fill(box, {name: answer.value})


READ = {  # ways to write an answer, by its exercise and name
    (FIRST, BOX, "average of 10 words, each"): ("0.1", "0,1", ".1", "1/10", "10 %", "1e-1", "+0.10"),
    (FIRST, BOX, "weight 2, 10 words back"): ("1024", "1,024", "1_024", "2^10", "2**10", "1000"),
    ("chapters/05_multi_head_attention.html", "#ex-predict-shapes", "queries"): (
        *("(2, 3, 4, 5)", "[2,3,4,5]", "2 x 3 x 4 x 5", "2×3×4×5", "2 3 4 5"),
    ),
    ("chapters/06_masking.html", "#ex-predict-weights", "query 1"): (
        *(
            "1/2 1/2 0 0",
            "0.5, 0.5, 0, 0",
            "[1 / 2, 1 / 2, 0, 0]",
            "0,5 0,5 0 0",
            "50% 50% 0 0",
            "1/2,1/2,0,0",
        ),
    ),
    ("chapters/13_decoder.html", "#ex-predict-shift", "inputs"): (
        *("1 7 8 9; 1 5 2 0", "[[1, 7, 8, 9], [1, 5, 2, 0]]", "1,7,8,9; 1,5,2,0"),
    ),
    ("chapters/11_encoder.html", "#ex-predict-change", "the feed-forward network"): (
        *("False False True False", "f, f, t, f", "no no yes no", "0 0 1 0"),
    ),
    ("chapters/14_transformer.html", "#ex-predict-pass", "logits"): (
        "(5, 37000)",
        "5 x 37,000",
        "(5, 37,000)",
    ),
    ("chapters/18_decoding.html", "#ex-predict-search", "greedy"): ("Go on", '"go  on"'),
}


@pytest.mark.parametrize(("page", "box", "name"), READ)
def test_law_an_answer_may_be_written_in_several_ways(visitor, page, box, name):
    visitor.goto(page)
    field = visitor.locator(box).get_by_label(name, exact=True)
    for text in READ[page, box, name]:
        field.fill(text)
        field.press("Enter")
        assert visitor.locator(f"{box} .at-right").text_content() == "✓ Right.", text
    if "shapes" in box:
        field.fill("two")
        field.press("Enter")
        assert visitor.locator(f"{box} .at-wrong").text_content().startswith("✗ Write a shape, such as ")


def contents(page) -> list[str]:
    return page.locator(".bd-sidebar-primary .at-progress").all_text_contents()


DENIED = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied'); } })"
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full'); }"


@pytest.mark.parametrize("storage", ["", DENIED, FULL], ids=["kept", "denied", "full"])
def test_law_answers_stay_in_the_browser_until_they_are_cleared(visitor, storage):
    if storage:
        visitor.add_init_script(storage)
    visitor.goto(FIRST)
    of = len(CHECKS["01_why_attention"])
    visitor.locator(f"{BOX} input").first.focus()
    for text in ("1/1024", "1", "1024", "0.1"):  # by keyboard only
        visitor.keyboard.type(text)
        visitor.keyboard.press("Tab")
    visitor.keyboard.press("Enter")  # on the button
    assert visitor.locator(f"{BOX} .at-bar output").text_content().startswith("✓ All right: a chain")
    assert contents(visitor) == [f"1 of {of}"]
    if storage == FULL:
        return
    visitor.reload()
    assert visitor.locator(f"{BOX} input").nth(2).input_value() == "1024"
    assert visitor.locator(f"{BOX} .at-bar output").text_content().startswith("✓ All right")
    visitor.goto("chapters/exercises.html")
    total = sum(map(len, CHECKS.values()))
    assert visitor.locator("article .at-bar output").text_content().startswith(f"1 of the {total} ")
    assert visitor.locator("article p.rubric .at-progress").all_text_contents()[:2] == [
        f"1 of {of}",
        "0 of 1",
    ]
    assert visitor.locator("td .at-judged span").count() == 1
    visitor.get_by_role("button", name="Clear my answers").click()
    assert contents(visitor) == []
    visitor.goto(FIRST)
    assert visitor.locator(f"{BOX} input").first.input_value() == ""


def test_law_without_scripts_and_on_paper_there_is_no_field(open_page):
    page = open_page(FIRST, java_script_enabled=False)
    assert page.locator("form.at-fields").count() == 0
    assert "It looks as if" not in page.locator("article").inner_text()
    page = open_page(FIRST)
    page.emulate_media(media="print")
    assert not page.locator(f"{BOX} form").is_visible()
