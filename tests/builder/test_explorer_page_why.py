"""The explorer page: why a token was chosen, and what the reader can change."""

import re

import pytest

from builder.explorer import bundle
from tests.explorer_pages import FRAME, LINK, SURE

pytestmark = pytest.mark.page
NOTICES = ".at-x-notices"


def test_law_heads_off_that_do_not_change_the_translation_change_how_sure_the_model_is(fresh):
    fresh.open_sections()
    fresh.press(*(f"head encoder 0 {head}" for head in (1, 2, 3)))  # faster than translations finish
    fresh.locator(".at-x-off", has_text="3 heads off").wait_for()
    own = fresh.locator(".at-x-option[aria-pressed=true] .at-x-bar-number").inner_text()
    effect = f"Token 6, morgen: {100 * SURE:.1f}% → {own} with"
    assert fresh.inner_text(".at-x-effect").startswith(effect)
    assert re.search("the model is (less|more) sure of it", fresh.inner_text(".at-x-off"))


def test_law_on_a_phone_the_effect_of_a_head_stays_in_view_while_its_buttons_do(fresh):
    before = fresh.viewport_size
    fresh.set_viewport_size({"width": 390, "height": 500})
    fresh.open_sections()
    fresh.press("head encoder 0 1")
    fresh.locator("[data-key='head encoder 0 0']").evaluate("head => head.scrollIntoView()")
    place = fresh.locator(".at-x-effect").bounding_box()
    assert place["y"] + place["height"] == pytest.approx(500, abs=1)
    fresh.set_viewport_size(before)


def test_law_a_sentence_on_which_the_searches_differ_is_offered(fresh):
    fresh.open_sections()
    assert fresh.compare()[:2] == [FRAME["text"]] * 2
    other = fresh.locator("[data-key=differs]")
    assert "the same translation here" in other.locator("..").inner_text()
    words = other.inner_text()
    other.click()
    fresh.wait_for_function("location.hash.includes('afraid')")
    fresh.ready()
    greedy, beam, *_ = fresh.compare()
    assert greedy != beam
    assert fresh.input_value(".at-x-field input") == words == bundle.DIFFERENT["en-de"]
    assert "the same translation" not in fresh.inner_text(".at-x-searches")


def test_law_searches_still_work_after_a_refused_sentence_and_report_errors(fresh):
    fresh.open_sections()
    fresh.fill(".at-x-field input", " ")
    fresh.keyboard.press("Enter")
    fresh.wait_for_function("document.querySelector('.at-x-form .at-x-error').textContent")
    with fresh.refused("translate"):
        fresh.click(".at-x-searches button")
        assert fresh.inner_text(".at-x-searches [role=alert]") == "the engine is away; try again"
    assert fresh.compare()[0] == FRAME["text"]


def test_law_a_character_made_of_several_tokens_is_shown_whole(fresh):
    fresh.go("#direction=en-de&text=The+café+is+closed.&step=99")
    assert "Café" in fresh.why()
    assert "\ufffd" not in fresh.why()
    fresh.go("#direction=en-de&text=駅はどこですか。")
    known = "Some characters of this sentence are not in the model’s vocabulary"
    assert known in fresh.inner_text(NOTICES)
    assert known in fresh.status()


def test_law_a_url_that_cannot_be_updated_does_not_stop_the_page(fresh):
    fresh.open_sections(".at-x-all")
    fresh.evaluate("() => { history.replaceState = () => { throw new Error('too often'); }; }")
    fresh.get_by_role("group", name="Layer").first.get_by_label("1").check(force=True)
    assert "layer 1" in fresh.why()
    fresh.evaluate("() => { delete history.replaceState; }")


# The reader's changes are named beside the translation.


def test_law_a_token_kept_before_a_forced_one_is_not_called_forced(fresh):
    """A token does not count as forced just because the model, with heads off, would choose another one."""
    fresh.click("[data-key='query 5']")
    fresh.locator(".at-x-option").nth(1).click()
    fresh.wait_for_selector("[data-key=undo]")
    fresh.ready()
    said = fresh.inner_text(NOTICES)
    assert re.fullmatch(r"You forced \w+ at token 6\. Undo", said)
    fresh.press(*(f"layer cross {layer}" for layer in range(4)))
    fresh.click("[data-key='query 0']")
    other = fresh.locator(".at-x-top li:first-child [aria-pressed=false]")
    assert other.count() == 1  # its own choice differs
    assert "This one is kept, because you forced a later one." in fresh.why()
    assert fresh.inner_text(NOTICES).startswith(said)
    assert "&forced=5&" in fresh.url
    assert fresh.locator(".at-x-queries small").all_inner_texts() == ["forced"]


def test_law_a_translation_that_is_cut_at_its_limit_says_so(fresh):
    many = ".".join(["509"] * 99)  # more tokens than a translation may have
    fresh.go(f"#direction=en-de&text=No.&prefix={many}")
    count = fresh.locator(".at-x-queries li").count()
    assert count < 99
    cut = f"The translation was cut: it was stopped at {count} tokens, the limit."
    assert fresh.inner_text(NOTICES) == cut
    assert cut in fresh.status()
    assert "prefix=" not in fresh.url


def test_law_a_head_that_is_off_reads_nothing(fresh):
    fresh.go(f"{LINK}&step=5&head=2&ablated=cross.3.2")
    assert "it attended" not in fresh.why()
    assert "Dashed curves" in fresh.inner_text(".at-x-stage")
    assert fresh.locator(".at-x-keys .at-active").count() == 0
    dashes = fresh.eval_on_selector_all(
        ".at-x-stage path", "all => [...new Set(all.map(x => getComputedStyle(x).strokeDasharray))]"
    )
    assert len({*dashes, "none"}) == 2
    fresh.locator("[data-key='One token on']").click()
    said = fresh.status()
    assert re.match(r"“kommen”, probability [\d.]+%, received nothing: nothing reached it", said)
    heads = fresh.get_by_role("group", name="Head").first.locator("label").all_inner_texts()
    assert heads == ["1", "2", "3 (off)", "4", "5", "mean"]


def test_law_the_weights_of_a_forced_token_do_not_depend_on_it(fresh):
    assert "where the model looked, not why it chose" in fresh.why()
    assert "do not depend on" not in fresh.why()
    fresh.go(f"{LINK}&step=5&prefix={'.'.join(map(str, FRAME['target']['ids'][:5]))}.509")
    assert "These weights do not depend on which token you forced" in fresh.why()
    ids = FRAME["target"]["ids"]
    fresh.start_second_engine()
    rows = fresh.evaluate(
        """async ([text, ids]) => {
          const rows = [];
          for (const last of [ids[5], 509, 1000]) {
            const prefix = [...ids.slice(0, 5), last];
            const { attention } = await second.translate({ direction: "en-de", text, prefix });
            rows.push([5, 6].map(step => attention.cross.flat().flatMap(head => [...head[step]])));
          }
          return rows;
        }""",
        [FRAME["sentence"], ids],
    )
    free, *forced = rows
    for row in forced:
        assert row[0] == pytest.approx(free[0], abs=1e-6)
        assert row[1] != pytest.approx(free[1], abs=1e-3)  # the next row does depend on it
    fresh.click("[data-key='to heads']")
    assert fresh.locator(".at-x-off").is_visible()
    assert fresh.focused() == "summary"


def test_law_a_sentence_is_not_sent_twice(fresh):
    fresh.evaluate("() => { window.counted = 0; }")
    with fresh.replaced("translate", "counted += 1; return own.apply(this, given);"):
        fresh.evaluate(
            """() => {
              const submit = document.querySelector(".at-x-go");
              submit.click();
              window.disabled = submit.getAttribute("aria-disabled");
              submit.click();
              submit.form.requestSubmit();
            }"""
        )
        fresh.ready()
        assert fresh.evaluate("[counted, disabled]") == [1, "true"]


# Explanations for first-time visitors.


def test_law_each_term_is_explained_behind_a_question_mark(fresh):
    fresh.open_sections(".at-x-help, .at-x-all")
    lines = " ".join(fresh.locator(".at-x-help").all_inner_texts()).lower()
    terms = ("log-probability", "token", "query", "key", "attends to", "layer", "head", "arrow keys")
    assert [term for term in terms if term not in lines] == []
    assert "Attention weights below 3% are left out." in fresh.why()
