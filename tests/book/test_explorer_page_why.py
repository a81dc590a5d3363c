"""The explorer's page: why a word was chosen, and what the reader may change."""

import re

import pytest
from playwright.sync_api import Page

from annotated_transformer.book.explorer import bundle, frame_page
from tests.explorer_pages import (
    FOCUSED,
    FRAME,
    HTML,
    LINK,
    PRESS,
    SECOND_ENGINE,
    go,
    pages,
    ready,
    settle,
    translation,
    why,
)

NO_BREAK = "\u00a0"


@pages
def test_law_keys_walk_through_the_translation(fresh: Page):
    fresh.focus("[data-key='query 5']")
    assert fresh.evaluate("document.activeElement.textContent").startswith(
        f"morgen attends to “tomorrow” 88{NO_BREAK}%"
    )
    fresh.keyboard.press("ArrowDown")
    assert "Why kommen?" in why(fresh)
    assert fresh.evaluate("document.activeElement.textContent").startswith("kommen attends to “come”")
    fresh.keyboard.press("End")
    assert "Why the end of sentence?" in why(fresh)
    fresh.keyboard.press("ArrowDown")  # stays
    fresh.keyboard.press("Home")
    assert "Why Ich?" in why(fresh)
    assert fresh.locator(".at-x-queries [tabindex='0']").count() == 1
    fresh.focus("[data-key='One token on']")
    fresh.keyboard.press("Enter")
    assert "Token 2 of 10" in why(fresh)
    assert fresh.evaluate("document.activeElement.dataset.key") == "One token on"
    said = (
        f"“hoffe”, probability 98.0{NO_BREAK}%, attends to “hope” 96{NO_BREAK}% (layer 4, mean of its heads)."
    )
    assert fresh.inner_text(".at-x [role=status]") == said
    fresh.keyboard.press("Shift+Tab")
    fresh.keyboard.press("Enter")
    assert "Token 1 of 10" in why(fresh)
    assert fresh.is_disabled("[data-key='One token back']")


@pages
def test_law_tapping_or_hovering_highlights_what_a_token_read(fresh: Page):
    fresh.locator("[data-key='query 7']").tap()
    assert "Why kannst?" in why(fresh)

    def lit() -> list[str]:
        return fresh.eval_on_selector_all(".at-x-keys li.at-active b", "all => all.map(x => x.textContent)")

    assert "can" in lit()
    assert "tomorrow" not in lit()
    fresh.hover("[data-key='query 5']")
    assert "tomorrow" in lit()
    assert "Why kannst?" in why(fresh)  # hovering chooses nothing
    fresh.mouse.move(5, 5)
    assert "tomorrow" not in lit()


@pages
def test_law_layer_and_head_change_what_is_drawn(fresh: Page):
    def weights() -> list[str]:
        return fresh.eval_on_selector_all(".at-x-keys i", "all => all.map(x => x.textContent)")

    mean = weights()
    fresh.focus("[data-key='head null']")
    fresh.keyboard.press("ArrowRight")  # from the last choice to the first
    assert "head 1)" in why(fresh)
    assert weights() != mean
    assert weights()[6] == f"98{NO_BREAK}%"
    fresh.get_by_role("group", name="Layer").get_by_label("1").check(force=True)
    assert "layer 1, head 1" in why(fresh)
    fresh.get_by_label("encoder", exact=True).check(force=True)
    assert fresh.inner_text(".at-x-queries p") == "English queries"
    fresh.get_by_label("decoder", exact=True).check(force=True)
    assert fresh.inner_text(".at-x-keys p") == "German keys"
    first = fresh.locator(".at-x-queries li").first
    first.locator("button").click()
    assert f"start of sentence 100{NO_BREAK}%" in why(fresh)  # the first token can read nothing else


@pages
def test_law_a_forced_token_changes_the_rest_of_the_sentence(fresh: Page):
    fresh.locator("[data-key='query 0']").click()
    option = fresh.locator(".at-x-option", has_text="Wir")
    option.focus()
    fresh.keyboard.press("Enter")
    fresh.wait_for_function("document.querySelector('.at-x-translation q').textContent.startsWith('Wir')")
    ready(fresh)
    assert "You forced this one." in why(fresh)
    assert fresh.inner_text("[data-key='query 0']").endswith("forced")
    assert "its own choice was “Ich”" in why(fresh)
    shown = fresh.locator(".at-x-option[aria-pressed=true] .at-x-bar-number").inner_text()
    assert f"a probability of {shown};" in why(fresh)  # one number, rounded once
    assert "prefix=" in fresh.url
    fresh.click("[data-key=free]")
    fresh.wait_for_function("document.querySelector('.at-x-translation q').textContent.startsWith('Ich')")
    ready(fresh)
    assert translation(fresh) == FRAME["text"]
    assert "prefix=" not in fresh.url


@pages
def test_law_heads_can_be_switched_off_and_on(fresh: Page):
    fresh.locator("summary", has_text="Switch heads off").click()
    fresh.focus("[data-key='layer cross 3']")
    fresh.keyboard.press("Enter")
    fresh.wait_for_selector(".at-x-off table")
    ready(fresh)
    assert fresh.locator(".at-x-head[aria-pressed=true]").count() == 5
    assert fresh.evaluate("document.activeElement.dataset.key") == "layer cross 3"
    effect = fresh.inner_text(".at-x-effect")
    assert re.fullmatch(
        rf"Token 6, morgen.*: 96.6{NO_BREAK}% → [\d.]+{NO_BREAK}% with these heads off.*", effect
    )
    rows = fresh.eval_on_selector_all(".at-x-off tbody tr", "all => all.map(x => x.innerText.split('\\t'))")
    assert [row[0] for row in rows] == ["all on", "5 heads off", "first translation, scored with 5 heads off"]
    assert rows[0][1] == FRAME["text"]
    assert rows[1][1] == translation(fresh) != FRAME["text"]
    assert rows[2][1] == FRAME["text"]
    assert float(rows[2][2].replace("−", "-")) < float(
        rows[0][2].replace("−", "-")
    )  # less likely without them
    assert fresh.locator(".at-x-off ins").count() > 0
    fresh.locator("[data-key='head cross 3 0']").tap()
    ready(fresh)
    assert fresh.locator(".at-x-head[aria-pressed=true]").count() == 4
    fresh.click("[data-key='all on']")
    ready(fresh)
    assert translation(fresh) == FRAME["text"]
    fresh.evaluate(
        "[1, 2, 3].forEach(i => document.querySelector(`[data-key='head encoder 0 ${i}']`).click())"
    )  # faster than it translates
    ready(fresh)
    assert "ablated=encoder.0.1_encoder.0.2_encoder.0.3" in fresh.url
    own = fresh.locator(".at-x-option[aria-pressed=true] .at-x-bar-number").inner_text()
    word = fresh.inner_text(".at-x-why h3 q")
    fresh.wait_for_function("document.querySelector('.at-x-off').textContent.includes('3 heads off')")
    assert translation(fresh) == FRAME["text"]
    assert fresh.inner_text(".at-x-effect").startswith(f"Token 6, {word}: 96.6{NO_BREAK}% → {own} with")
    assert re.search("the model is (less|more) sure of it", fresh.inner_text(".at-x-off"))


@pages
def test_law_searches_are_compared_without_changing_the_translation(fresh: Page):
    fresh.locator("summary", has_text="Compare greedy").click()
    fresh.locator(".at-x-searches button").click()
    fresh.wait_for_selector(".at-x-searches tbody tr")
    rows = fresh.eval_on_selector_all(
        ".at-x-searches tbody tr", "all => all.map(x => x.innerText.split('\\t'))"
    )
    assert [row[0] for row in rows] == ["greedy", "beam 4", "sampling, temperature 1.0, seed 1"]
    assert rows[0][1] == rows[1][1] == FRAME["text"]
    assert [float(row[2].replace("−", "-")) < 0 for row in rows] == [True] * 3
    fresh.click("[data-key='why number']")  # the engine holds the shown translation again
    fresh.wait_for_selector(".at-x-number .at-x-same")
    assert fresh.inner_text(".at-x-number h4 b").startswith("0.96")
    other = fresh.locator("[data-key=differs]")
    assert "the same translation here" in other.locator("..").inner_text()
    words = other.inner_text()
    other.click()
    fresh.wait_for_function("location.hash.includes('thinking')")
    ready(fresh)
    fresh.locator(".at-x-searches button").first.click()
    fresh.wait_for_selector(".at-x-searches tbody tr")
    assert fresh.input_value(".at-x-field input") == words == bundle.DIFFERENT["en-de"]
    greedy, beam = fresh.locator(".at-x-searches tbody td:nth-child(2)").all_inner_texts()[:2]
    assert greedy != beam
    assert "the same translation" not in fresh.inner_text(".at-x-searches")


@pages
def test_law_searches_still_work_after_a_refused_sentence_and_report_errors(fresh: Page):
    fresh.locator(".at-x-searches").evaluate("part => { part.closest('details').open = true; }")
    fresh.fill(".at-x-field input", " ")
    fresh.keyboard.press("Enter")
    fresh.wait_for_function("document.querySelector('.at-x-form .at-x-error').textContent")
    fresh.evaluate(
        """() => {
          const prototype = Worker.prototype;
          const { postMessage } = prototype;
          prototype.postMessage = function () {
            prototype.postMessage = postMessage; // the next call works
            throw new Error("the engine is away; try again");
          };
        }"""
    )
    compare = fresh.locator(".at-x-searches button")
    compare.click()
    fresh.wait_for_selector(".at-x-searches [role=alert]")
    assert fresh.inner_text(".at-x-searches [role=alert]") == "the engine is away; try again"
    compare.click()
    fresh.wait_for_selector(".at-x-searches tbody tr")
    assert fresh.inner_text(".at-x-searches tbody td") == FRAME["text"]


@pages
def test_law_a_character_made_of_several_tokens_is_shown_whole(fresh: Page):
    go(fresh, "#direction=en-de&text=The+café+is+closed.&step=99")
    assert "Café" in why(fresh)
    assert "\ufffd" not in why(fresh)
    go(fresh, "#direction=en-de&text=駅はどこですか。")
    known = "Some characters of this sentence are not in the model’s vocabulary"
    assert known in fresh.inner_text(NOTICES)
    assert known in fresh.inner_text(".at-x [role=status]")


COUNT = """() => {
  window.asked = 0;
  const { prototype } = EngineClient;
  const { translate } = prototype;
  prototype.translate = function (...options) {
    asked += 1;
    return translate.apply(this, options);
  };
  window.mend = () => { prototype.translate = translate; };
}"""


@pages
def test_law_choices_made_during_a_translation_are_kept_and_computed_once(fresh: Page):
    fresh.evaluate(COUNT)
    try:
        heads = [f"head encoder 0 {head}" for head in (1, 2)]
        fresh.evaluate(PRESS, [*heads, "option 584", "layer 0"])  # faster than it translates
        ready(fresh)
        assert "ablated=encoder.0.1_encoder.0.2&layer=0&" in fresh.url
        assert re.search(r"prefix=[\d.]+\.584&", fresh.url)
        assert "layer 1, mean of its heads" in why(fresh)
        assert fresh.evaluate("asked") == 3  # with all heads, the same forced, and what was chosen last
        fresh.evaluate(PRESS, ["head encoder 0 3"])
        ready(fresh)
        assert fresh.evaluate("asked") == 5  # the one with all heads is known
        fresh.evaluate(PRESS, ["all on", "head 2"])
        ready(fresh)
        assert "ablated" not in fresh.url
        assert "layer 1, head 3" in why(fresh)
    finally:
        fresh.evaluate("mend()")


@pages
def test_law_a_url_that_cannot_be_updated_does_not_stop_the_page(fresh: Page):
    fresh.evaluate("() => { history.replaceState = () => { throw new Error('too often'); }; }")
    fresh.get_by_role("group", name="Layer").first.get_by_label("1").check(force=True)
    assert "layer 1" in why(fresh)
    fresh.evaluate("() => { delete history.replaceState; }")


# What the reader has changed is said beside the translation.

NOTICES = ".at-x-notices"


def option(page: Page, word: str) -> None:
    """Force one of the likeliest tokens."""
    page.locator(".at-x-option", has_text=word).first.click()
    page.wait_for_selector("[data-key=undo]")
    ready(page)


@pages
def test_law_undo_removes_the_whole_forced_prefix(fresh: Page):
    fresh.locator("[data-key='query 3']").click()
    second = fresh.locator(".at-x-option").nth(1)
    word = second.locator(".at-x-bar-token").inner_text()
    option(fresh, word)
    assert fresh.inner_text(NOTICES) == f"You forced {word} at token 4. Undo"
    assert "prefix=" in fresh.url
    fresh.click("[data-key=undo]")
    fresh.wait_for_selector("[data-key=undo]", state="detached")
    ready(fresh)
    assert translation(fresh) == FRAME["text"]
    assert fresh.evaluate(FOCUSED) == "query 3"
    assert "prefix=" not in fresh.url
    fresh.evaluate(PRESS, ["layer cross 3"])
    ready(fresh)
    assert "prefix=" not in fresh.url
    assert translation(fresh) != FRAME["text"]  # nothing holds the first words any more
    assert "You forced" not in fresh.inner_text(NOTICES)


@pages
def test_law_only_what_the_reader_forced_is_called_forced(fresh: Page):
    fresh.locator("[data-key='query 0']").click()
    option(fresh, "Wir")
    fresh.locator("[data-key='query 1']").click()
    fresh.locator(".at-x-option").nth(0).click()  # the model's own choice forces nothing
    ready(fresh)
    assert fresh.inner_text(NOTICES) == "You forced Wir at token 1. Undo"
    word = fresh.locator(".at-x-option").nth(1).locator(".at-x-bar-token").inner_text()
    fresh.locator(".at-x-option").nth(1).click()
    fresh.wait_for_function(f"document.querySelector('{NOTICES}').textContent.includes('token 2')")
    ready(fresh)
    assert fresh.inner_text(NOTICES) == f"You forced Wir at token 1 and {word} at token 2. Undo all"
    fresh.evaluate(PRESS, ["layer cross 2"])
    ready(fresh)
    assert f"You forced Wir at token 1 and {word} at token 2. Undo all" in fresh.inner_text(NOTICES)


@pages
def test_law_a_token_kept_before_a_forced_one_is_not_called_forced(fresh: Page):
    """With heads off, the model would choose another token here: that does not make this one forced."""
    fresh.locator("[data-key='query 5']").click()
    fresh.locator(".at-x-option").nth(1).click()
    fresh.wait_for_selector("[data-key=undo]")
    ready(fresh)
    said = fresh.inner_text(NOTICES)
    assert re.fullmatch(r"You forced \w+ at token 6\. Undo", said)
    fresh.evaluate(PRESS, [f"layer cross {layer}" for layer in range(4)])
    ready(fresh)
    kept = fresh.locator(".at-x-top li:first-child [aria-pressed=false]")
    fresh.locator("[data-key='query 0']").click()
    assert kept.count() == 1  # its own choice is another
    assert "This one is kept, because you forced a later one." in why(fresh)
    assert fresh.inner_text(NOTICES).startswith(said)
    state = fresh.evaluate("location.hash")
    assert "&forced=5&" in state
    go(fresh, "#x")
    go(fresh, state)
    assert fresh.inner_text(NOTICES).startswith(said)
    go(fresh, re.sub("&ablated=[^&]*", "", state))
    assert fresh.inner_text(NOTICES) == said
    assert fresh.locator(".at-x-queries small").all_inner_texts() == ["forced"]


@pages
def test_law_a_token_that_was_forced_stays_forced_if_the_model_would_choose_it_too(fresh: Page):
    own = FRAME["top"][0][0]
    go(fresh, f"{LINK}&prefix={own['id']}&forced=0&step=0")
    assert "You forced this one, but the model would choose it too. Before that, it attended to" in why(fresh)
    assert fresh.inner_text(NOTICES) == f"You forced {own['token'].strip()} at token 1. Undo"
    fresh.click("[data-key=free]")
    fresh.wait_for_selector("[data-key=free]", state="detached")
    ready(fresh)
    assert "prefix=" not in fresh.url
    assert "forced=" not in fresh.url


@pages
def test_law_an_old_link_calls_the_last_token_of_its_prefix_forced(fresh: Page):
    ids = ".".join(map(str, [*FRAME["target"]["ids"][:5], 509]))
    go(fresh, f"{LINK}&prefix={ids}&step=5")
    assert re.fullmatch(r"You forced \S+ at token 6\. Undo", fresh.inner_text(NOTICES))
    assert f"prefix={ids}&forced=5&" in fresh.url
    go(
        fresh, f"#direction=en-de&text=No.&prefix={'.'.join(['509'] * 99)}"
    )  # more than a translation may have
    count = fresh.locator(".at-x-queries li").count()
    assert count < 99
    cut = f"The translation was cut: it was stopped at {count} tokens, the limit."
    assert fresh.inner_text(NOTICES) == cut
    assert cut in fresh.inner_text(".at-x [role=status]")
    assert "prefix=" not in fresh.url


@pages
def test_law_a_single_forced_token_can_be_released(fresh: Page):
    for query in (0, 2):
        fresh.locator(f"[data-key='query {query}']").click()
        fresh.locator(".at-x-option").nth(1).click()
        fresh.wait_for_function(
            f"document.querySelector('{NOTICES}').textContent.includes('token {query + 1}')"
        )
        ready(fresh)
    both = fresh.inner_text(NOTICES)
    assert fresh.inner_text("[data-key=free]") == "Let the model choose this one again"
    assert fresh.inner_text("[data-key='free all']") == "Let the model choose every token again"
    fresh.locator("[data-key='query 0']").click()
    assert fresh.inner_text("[data-key=free]") == "Let the model choose again from here"
    assert fresh.locator("[data-key='free all']").count() == 0  # it would do the same
    fresh.locator("[data-key='query 2']").click()
    fresh.click("[data-key=free]")
    fresh.wait_for_function(f"!document.querySelector('{NOTICES}').textContent.includes('token 3')")
    ready(fresh)
    first = both.split(" and ")[0]
    assert fresh.inner_text(NOTICES) == f"{first}. Undo"
    assert fresh.evaluate(FOCUSED) == "query 2"
    fresh.locator(".at-x-option").nth(1).click()
    fresh.wait_for_function(f"document.querySelector('{NOTICES}').textContent.includes('token 3')")
    ready(fresh)
    assert fresh.inner_text(NOTICES) == both
    fresh.click("[data-key='free all']")
    fresh.wait_for_selector("[data-key='free all']", state="detached")
    ready(fresh)
    assert fresh.inner_text(NOTICES) == ""
    assert translation(fresh) == FRAME["text"]


@pages
def test_law_a_token_of_one_sentence_is_not_forced_on_another(fresh: Page):
    fresh.fill(".at-x-field input", "No.")
    fresh.focus(".at-x-field input")
    fresh.evaluate(
        """() => {
          document.querySelector(".at-x-form").requestSubmit();
          document.querySelectorAll(".at-x-option")[1].click();
        }"""
    )
    ready(fresh)
    assert translation(fresh) == "Keines."
    assert "prefix=" not in fresh.url


def off(*heads: tuple[int, int]) -> str:
    """Return what a link says of heads of the cross-attention that are off: layer and head, from 0."""
    return f"&ablated={'_'.join(f'cross.{layer}.{head}' for layer, head in heads)}"


ALL = [(layer, head) for layer in range(4) for head in range(5)]


@pages
@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("", "(layer 4, mean of its heads)"),
        ("&head=2", "(layer 4, head 3)"),
        (off((3, 0), (3, 1)), "(layer 4, mean of the 3 heads that are on)"),
        (off(*((3, head) for head in range(4))), "(layer 4, head 5, the only one that is on)"),
        ("&layer=mean", "(mean over all layers and heads)"),
        (f"{off((0, 0), (3, 1), (3, 2))}&layer=mean", "(mean over all layers of the 17 heads that are on)"),
        (f"{off(*ALL[:-1])}&layer=mean", "(layer 4, head 5, the only one that is on)"),
        ("&layer=mean&head=1", "(head 2, mean over all layers)"),
        (f"{off((2, 1))}&layer=mean&head=1", "(head 2, mean over the 3 layers in which it is on)"),
        (f"{off((0, 1), (1, 1), (3, 1))}&layer=mean&head=1", "(layer 3, head 2, the only one that is on)"),
        (
            off(*ALL[15:]),
            "nothing reached it through the cross-attention in layer 4: all its heads are off, so their "
            "output is zero.",
        ),
        (
            f"{off(*ALL)}&layer=mean",
            "nothing reached it through the cross-attention: all its heads are off, so their output is zero.",
        ),
        (
            f"{off(*((layer, 1) for layer in range(4)))}&layer=mean&head=1",
            "nothing reached it through head 2 of the cross-attention: that head is off in every layer, so "
            "its output is zero.",
        ),
    ],
)
def test_law_the_explanation_names_the_heads_that_it_refers_to(fresh: Page, state: str, sentence: str):
    go(fresh, f"{LINK}{state}&step=1")
    assert sentence in why(fresh)
    if sentence.startswith("nothing"):
        heads = (
            "this head is off" if "that" in sentence and "every" not in sentence else "these heads are off"
        )
        assert f"receives nothing: {heads}" in str(fresh.text_content("[data-key='query 1']"))


@pages
def test_law_heads_that_are_off_are_named_beside_the_translation(fresh: Page):
    go(fresh, f"{LINK}&ablated=encoder.1.0_cross.3.0_cross.3.1_cross.3.2_cross.3.3_cross.3.4_encoder.1.2")
    said = "7 of 60 heads are off: cross-attention layer 4, all heads; encoder layer 2, heads 1 and 3. "
    assert fresh.inner_text(NOTICES) == f"{said}Switch all on"
    fresh.fill(".at-x-field input", "The old man did not want to sell his house.")
    fresh.keyboard.press("Enter")
    fresh.wait_for_function("document.querySelector('.at-x-keys').textContent.includes('house')")
    ready(fresh)
    assert fresh.inner_text(NOTICES).startswith(said)
    fresh.click("[data-key='switch on']")
    fresh.wait_for_selector("[data-key='switch on']", state="detached")
    ready(fresh)
    assert fresh.inner_text(NOTICES) == ""
    assert "ablated" not in fresh.url
    assert fresh.evaluate(FOCUSED).startswith("query")


@pages
def test_law_a_head_that_is_off_reads_nothing(fresh: Page):
    go(fresh, f"{LINK}&step=5&head=2&ablated=cross.3.2")
    nothing = "nothing reached it through head 3 of the cross-attention in layer 4: that head is off, so its"
    assert nothing in why(fresh)
    assert "it attended" not in why(fresh)
    stage = fresh.locator(".at-x-stage")
    assert " attends to " not in str(stage.text_content())
    assert "Dashed curves" in stage.inner_text()
    assert fresh.locator(".at-x-keys .at-active").count() == 0
    dashes = fresh.eval_on_selector_all(
        ".at-x-stage path", "all => new Set(all.map(x => getComputedStyle(x).strokeDasharray)).size"
    )
    assert dashes == 1
    assert fresh.eval_on_selector(".at-x-stage path", "x => getComputedStyle(x).strokeDasharray") != "none"
    fresh.locator("[data-key='One token on']").click()
    said = fresh.inner_text(".at-x [role=status]")
    assert re.match(rf"“kommen”, probability [\d.]+{NO_BREAK}%, received nothing: nothing reached it", said)
    fresh.locator(".at-x-choose [data-key='head 1']").check(force=True)
    assert "it attended to “come”" in why(fresh)
    heads = fresh.get_by_role("group", name="Head").first.locator("label").all_inner_texts()
    assert heads == ["1", "2", "3 (off)", "4", "5", "mean"]
    fresh.locator(".at-x-choose [data-key='head null']").check(force=True)
    assert "(layer 4, mean of the 4 heads that are on)" in why(fresh)
    mean = fresh.eval_on_selector_all(".at-x-stage path.at-active", "all => all.map(x => x.outerHTML)")
    fresh.click("[data-key='switch on']")
    fresh.wait_for_selector("[data-key='switch on']", state="detached")
    ready(fresh)
    assert mean != fresh.eval_on_selector_all(
        ".at-x-stage path.at-active", "all => all.map(x => x.outerHTML)"
    )


@pages
def test_law_the_weights_of_a_forced_token_do_not_depend_on_it(fresh: Page):
    assert "where the model looked, not why it chose" in why(fresh)
    assert "do not depend on" not in why(fresh)
    go(fresh, f"{LINK}&step=5&prefix={'.'.join(map(str, FRAME['target']['ids'][:5]))}.509")
    assert "These weights do not depend on which token you forced" in why(fresh)
    ids = FRAME["target"]["ids"]
    fresh.evaluate(SECOND_ENGINE)
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
    assert fresh.evaluate(FOCUSED) == "summary"


@pages
def test_law_a_disabled_button_does_nothing(fresh: Page):
    fresh.locator("[data-key='query 0']").click()
    fresh.click("[data-key=tour]")
    fresh.wait_for_function("document.querySelector('.at-x [role=status]').textContent.startsWith('1 of ')")
    go(fresh, f"{LINK}&step=0")
    for key in ("One token back", "Back"):
        button = fresh.locator(f"[data-key='{key}']")
        assert button.get_attribute("aria-disabled") == "true"
        before = fresh.url, fresh.inner_text(".at-x")
        button.click(force=True)
        for pressed in ("Enter", "Space"):
            button.focus()
            fresh.keyboard.press(pressed)
            assert fresh.evaluate(FOCUSED) == key  # it keeps the focus
        settle(fresh)
        assert (fresh.url, fresh.inner_text(".at-x")) == before


@pages
def test_law_a_sentence_is_not_sent_twice(fresh: Page):
    fresh.evaluate(COUNT)
    try:
        fresh.evaluate(
            """() => {
              const { prototype } = EngineClient;
              const { translate } = prototype;
              const door = new Promise(go => { window.go = go; });
              prototype.translate = async function (...options) {
                await door;
                return translate.apply(this, options);
              };
            }"""
        )
        submit = fresh.locator(".at-x-go")
        submit.click()
        assert submit.get_attribute("aria-disabled") == "true"
        submit.click(force=True)
        for key in ("Enter", "Space"):
            submit.focus()
            fresh.keyboard.press(key)
        fresh.evaluate("go()")
        ready(fresh)
        assert fresh.evaluate("asked") == 1
    finally:
        fresh.evaluate("go()")
        fresh.evaluate("mend()")


# Where the focus is.


@pages
def test_law_the_focus_stays_where_the_reader_is(fresh: Page):
    fresh.focus(".at-x-go")
    fresh.keyboard.press("Enter")
    ready(fresh)
    assert fresh.evaluate("document.activeElement.className") == "at-x-go"
    fresh.locator(".at-x-section").evaluate_all("all => all.forEach(part => { part.open = true; })")
    compare = fresh.locator(".at-x-searches button")
    compare.focus()
    fresh.keyboard.press("Enter")
    fresh.wait_for_selector(".at-x-searches tbody tr")
    assert fresh.evaluate("document.activeElement.textContent") == "Compare"
    fresh.evaluate(PRESS, ["head cross 3 0"])
    fresh.wait_for_selector("[data-key='all on']")
    ready(fresh)
    fresh.focus("[data-key='all on']")
    fresh.keyboard.press("Enter")
    fresh.wait_for_selector("[data-key='all on']", state="detached")
    ready(fresh)
    assert fresh.evaluate("document.activeElement.closest('.at-x-off') !== null")
    fresh.locator("[data-key='query 0']").click()
    option(fresh, "Wir")
    fresh.focus("[data-key=free]")
    fresh.keyboard.press("Enter")
    fresh.wait_for_selector("[data-key=free]", state="detached")
    ready(fresh)
    assert fresh.evaluate(FOCUSED) == "query 0"


@pages
def test_law_each_group_of_heads_is_one_tab_stop(fresh: Page):
    fresh.locator(".at-x-section").first.evaluate("part => { part.open = true; }")
    assert fresh.locator(".at-x-kind button[tabindex='0']").count() == 3
    fresh.focus("[data-key='layer encoder 0']")
    for key, focused in (
        ("ArrowRight", "head encoder 0 0"),
        ("ArrowDown", "head encoder 1 0"),
        ("End", "head encoder 1 4"),
        ("ArrowRight", "head encoder 1 4"),
        ("Home", "layer encoder 1"),
        ("ArrowUp", "layer encoder 0"),
        ("End", "head encoder 0 4"),
        ("Tab", "layer decoder 0"),
        ("Shift+Tab", "head encoder 0 4"),
    ):
        fresh.keyboard.press(key)
        assert fresh.evaluate(FOCUSED) == focused, key
    fresh.keyboard.press("Space")
    fresh.wait_for_function("location.hash.includes('ablated=encoder.0.4')")
    ready(fresh)
    assert fresh.evaluate(FOCUSED) == "head encoder 0 4"


# Words for a first-time visitor.


@pages
def test_law_each_term_is_explained_at_its_first_use(fresh: Page):
    lines = " ".join(fresh.locator(".at-x-help").all_inner_texts())
    for term in (
        "log-probability",
        "token",
        "+",
        "query",
        "key",
        "attends to",
        "layer",
        "head",
        "arrow keys",
    ):
        assert term in lines.lower()
    assert "short everyday sentences in English" in fresh.inner_text(".at-x-form > .at-x-note")
    assert frame_page.LEFT_OUT in why(fresh)
    assert frame_page.LEFT_OUT in frame_page.explorer_page()
    script = (HTML / "_static" / "explorer" / "explorer.js").read_text(encoding="utf-8")
    for line in (frame_page.HELP_LOG_PROB, frame_page.HELP_TOKEN, frame_page.LOOKED):
        assert line in script
        assert line in frame_page.explorer_page()
