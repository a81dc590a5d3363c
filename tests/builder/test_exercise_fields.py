"""A page judges an exercise's answers as its notebook does, and keeps them in the browser."""

import random
from contextlib import suppress
from itertools import zip_longest
from typing import Any

import pytest
from playwright.sync_api import Locator

from annotated_transformer.book.exercises.answers import Answer, Judged
from builder.site.fields import declared_checks
from tests.declared import as_given
from tests.targets import SOURCES

pytestmark = pytest.mark.page

CHECKS = {path.stem: declared_checks(path) for path in SOURCES.values()}
FIRST = "01_why_attention"
GRADIENTS = "#ex-predict-gradient"


def sums(value: int) -> str:
    """Return expressions that Python says have a value."""
    rng, found = random.Random(0), []
    for _ in range(20):
        parts = [f"{rng.choice(['', '-', '('])}{rng.randint(1, 9)}" for _ in range(5)]
        drawn = "".join(f"{part}{rng.choice(['+', '-', ' * ', '/', '**'])}" for part in parts)
        drawn += "2" + ")" * drawn.count("(")
        with suppress(ArithmeticError, TypeError):
            found += [f"{drawn} + {value - eval(drawn)!r}"] * (abs(eval(drawn)) < value)
    return " | ".join(found)


READ = {  # ways to write an answer, by its exercise and name
    ("ex-predict-gradient", "average of 10 words, each"): "0.1 | 0,1 | .1 | 1/10 | 10 % | 1e-1 | +0.10",
    ("ex-predict-gradient", "weight 2, 10 words back"): "1024 | 1,024 | 1_024 | 2^10 | 2 ** 10 | 1000",
    ("ex-predict-sizes", "parameters"):
        f"81,920 | 81\u202f920 | \uff18\uff11920 | \u200e81920 | 81'920 | 5·2¹⁴ | 10 x 2^13 | {sums(81920)}",
    ("ex-low-enough", "allowed=1, hidden=9, score=0, share=0.01"): "\u20106.8 | \uff0d6.79",
    ("ex-predict-shapes", "queries"): "(2, 3, 4, 5) | [2,3,4,5] | 2 x 3 x 4 x 5 | 2×3×4×5 | 2 3 4 5",
    ("ex-predict-weights", "query 1"):
        "1/2 1/2 0 0 | .5, .5, 0, 0 | [1 / 2, 1 / 2, 0, 0] | 0,5 0,5 0 0 | 50% 50 % 0 0 | 1/2,1/2,0,0",
    ("ex-predict-change", "the feed-forward network"): "False False True False | f, f, t, f",
    ("ex-predict-shift", "inputs"): "1 7 8 9; 1 5 2 0 | [[1, 7, 8, 9], [1, 5, 2, 0]]",
    ("ex-predict-pass", "logits"): "(5, 37000) | 5 x 37,000 | (5, 37,000)",
    ("ex-smoothed-optimum", "classes=10, smoothing=0.1"): "0.91 4.51 0.50 | 0,91 4,511 0,500",
    ("ex-predict-search", "greedy"): 'Go on | "go  on"',
}  # fmt: skip


def typed(value: Any) -> str:
    """Return a value as a reader may write it."""
    rows = value if isinstance(value, list) else []
    return ("; " if any(isinstance(row, list) for row in rows) else " ").join(map(typed, rows)) or str(value)


def unnamed(answer: Answer) -> Any:
    """Return an answer of the same kind that is neither right nor a mistake with a name."""
    if isinstance(answer.value, bool):
        return not answer.value
    named = {str(answer.value), *map(str, answer.mistakes.values())}
    if isinstance(answer.value, str):
        return next(text for text in (*answer.choices, "zebra") if text not in named)
    return {tuple: (1, 2, 3, 4, 5, 6), list: [7, 7]}.get(type(answer.value), 123_456.5)


def fill(box: Locator, name: str, value: Any) -> Locator:
    field = box.get_by_label(name, exact=True)
    write = field.select_option if field.evaluate("field => field.options") else field.fill
    write(typed(value))
    return field


def told(check: Judged, name: str, fault: Any) -> str:
    """Return what a page should say beside a field: what the notebook says of this fault, if there is one."""
    if fault is None:
        return "✓ Right."
    return f"✗ {as_given(check, {name: fault}).message.partition(f'the answer is not {fault}. ')[2]}"


@pytest.mark.parametrize("page", CHECKS)
def test_law_a_page_judges_as_the_notebook_does(visitor, page):
    visitor.goto(f"chapters/{page}.html")
    for label, check in CHECKS[page].items():
        box, answers = visitor.locator(f"#{label} form"), check.asked()
        faults = [[unnamed(one), *(gives for gives, _ in one.named())] for one in answers.values()]
        for given in zip_longest(*faults):  # a fault in each field, as long as there are any
            for (name, answer), fault in zip(answers.items(), given, strict=True):
                field = fill(box, name, answer.value if fault is None else fault)
            field.press("Enter")
            wanted = [told(check, name, fault) for name, fault in zip(answers, given, strict=True)]
            assert box.locator("> output").all_text_contents() == wanted
        for name, answer in answers.items():
            for digits in (1, 2, 3) if isinstance(answer.value, float) else ():  # rounded
                text = f"{answer.value:.{digits}g}"
                (field := fill(box, name, text)).press("Enter")
                passed = as_given(check, {name: float(text)}).passed
                assert field.locator("+ output").text_content().startswith("✓" if passed else "✗"), text
        for name, answer in answers.items():
            fill(box, name, answer.value)
        box.get_by_role("button", name="Check").click()
        result = box.locator(".at-bar output")
        assert result.text_content() == f"✓ All right: {as_given(check, {}).message}"
        for name in (name for exercise, name in READ if exercise == label):
            for text in READ[label, name].split(" | "):
                fill(box, name, text).press("Enter")
                assert result.text_content().startswith("✓ All right"), text


DENIED = "Storage.prototype.getItem = Storage.prototype.setItem = () => { throw new DOMException('denied'); }"
OTHER = 'localStorage[\'at-exercises\'] ??= \'{"03_a": {}, "01_why_attention": {"of": 3}, "2": null}\''

RESTORING = """addEventListener("load", () => {  // as some browsers fill fields with what was there before
    const select = document.querySelector("#ex-predict select");
    if (select) select.value = "flatter";
})"""


@pytest.mark.parametrize("storage", ["", DENIED, OTHER], ids=["kept", "denied", "of another shape"])
def test_law_answers_stay_in_the_browser_until_they_are_cleared(visitor, storage):
    visitor.add_init_script(storage)
    visitor.goto(f"chapters/{FIRST}.html")
    visitor.focus(f"{GRADIENTS} input")
    for text in ("1/1024", "1", "1024", "0.1"):  # by keyboard only
        visitor.keyboard.type(text)
        visitor.keyboard.press("Tab")
    visitor.keyboard.press("Enter")  # on the button
    for text, said in (("one", "✗ Write a number, such as"), ("1.000", "✓"), ("1", "✓")):
        fill(visitor.locator(GRADIENTS), "weight 1, 10 words back", text).press("Enter")
        assert visitor.locator(f"{GRADIENTS} form > output").nth(1).text_content().startswith(said)
    fill(visitor.locator(GRADIENTS), "weight 2, 10 words back", "1.024").press("Enter")
    assert visitor.text_content(f"{GRADIENTS} form > .at-wrong").startswith("✗ A point begins the decimals")
    fill(visitor.locator(GRADIENTS), "weight 2, 10 words back", "1024").press("Enter")
    if storage == DENIED:
        return
    visitor.goto("chapters/03_scaled_dot_product_attention.html")
    choice = visitor.locator("#ex-predict select").first
    choice.select_option("unchanged")
    choice.press("Enter")
    visitor.add_init_script(RESTORING)
    visitor.reload()
    assert (choice.input_value(), choice.locator("+ output").text_content()) == ("unchanged", "✓ Right.")
    visitor.goto(f"chapters/{FIRST}.html")
    clear, undo = (visitor.get_by_role("button", name=name) for name in ("Clear my answers on", "Undo"))
    for _ in ("at once", "when it is opened again"):
        assert visitor.text_content(f"{GRADIENTS} .at-bar output").startswith("✓ All right: a chain")
        assert visitor.locator(f"{GRADIENTS} input").nth(2).input_value() == "1024"
        counts = visitor.locator(".at-progress").all_text_contents()
        assert counts == [f"1 of {len(CHECKS[FIRST])}", "0 of 2"]
        clear.click()
        assert visitor.locator(".at-progress").all_text_contents() == counts[1:]
        assert visitor.locator(f"{GRADIENTS} input").first.input_value() == ""
        undo.click()
        visitor.reload()
    visitor.goto("chapters/exercises.html")
    assert visitor.text_content("article .at-bar output").startswith(
        f"1 of the {sum(map(len, CHECKS.values()))} "
    )
    assert visitor.locator("article p.rubric .at-progress").first.text_content() == counts[0]
    assert visitor.locator("td .at-judged > *").count() == 1


def test_law_without_scripts_and_on_paper_there_is_no_field(open_page):
    page = open_page(f"chapters/{FIRST}.html", java_script_enabled=False)
    assert page.locator("form.at-fields").count() == 0
    assert "It looks as if" not in page.locator("article").inner_text()
    page = open_page(f"chapters/{FIRST}.html")
    assert page.locator(f"{GRADIENTS} form").is_visible()
    page.emulate_media(media="print")
    assert not page.locator(f"{GRADIENTS} form").is_visible()
