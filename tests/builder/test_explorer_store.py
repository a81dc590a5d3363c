"""What the explorer shows and what readers have asked for, without a browser, with a stub engine."""

import json
from typing import Any

import pytest
from py_mini_racer import MiniRacer

from builder.chapters import read_chapters
from builder.explorer import bundle
from builder.explorer.frame_page import PAGE
from builder.explorer.pack import join_scripts, read_script
from tests.explorer_pages import ROOT

UI = bundle.HERE / "ui"
BROWSER = """
class EventTarget { addEventListener() {} }
class URLSearchParams {
  constructor(from) {
    const read = (text) => decodeURIComponent(text.replaceAll("+", " "));
    const pairs = (text) => text.split("&").filter(Boolean).map((pair) => pair.split("=").map(read));
    this.pairs = Array.isArray(from) ? from : pairs(from);
  }
  [Symbol.iterator]() { return this.pairs[Symbol.iterator](); }
  toString() { return this.pairs.map((pair) => pair.map(encodeURIComponent).join("=")).join("&"); }
}
Object.assign(globalThis, { EventTarget, URLSearchParams, setTimeout() {}, clearTimeout() {} });
"""
START_STORE = """
Session.prototype.start = async () => new EngineClient();
const told = [];
const tell = (name) => (...given) => void told.push([name, ...given]);
const view = Object.fromEntries(["begin", "waiting", "refuse", "translated", "ended", "changed"].map((name) =>
  [name, tell(name)]));
view.watch = (answer) => answer;
const frame = { ...answer({ direction: "en-de", text: "first" }), direction: "en-de", frame: true };
const first = { state: { ...START, text: "first" }, result: frame, linked: null };
const store = new Store(new Session(""), first, view);
const asks = () => asked.filter(([call]) => call === "translate").map(([, options]) => options);
"""


class Runtime:
    """A JavaScript engine with the store, its session, and the stub."""

    def __init__(self) -> None:
        self._racer = MiniRacer()
        book = bundle.book_data(dict.fromkeys(bundle.EXAMPLES, ""), read_chapters(ROOT))
        for script in (
            PAGE.read_text(encoding="utf-8"),
            BROWSER,
            f"const BOOK = {json.dumps(book)};",
            join_scripts(UI / "store.js"),
            read_script(UI / "session.js"),
            read_script(ROOT / "tests" / "explorer_stub.js"),
            START_STORE,
        ):
            self._racer.eval(script)

    def __call__(self, script: str) -> Any:
        """Return the value of an expression; promises that it starts are settled before the next call."""
        return json.loads(str(self._racer.eval(f"JSON.stringify({script}) ?? 'null'")))

    @property
    def state(self) -> dict[str, Any]:
        return dict(self("store.state"))


@pytest.fixture
def store() -> Runtime:
    """Return a store that has translated three words."""
    runtime = Runtime()
    runtime('store.translate({ direction: "en-de", text: "one two three" })')
    runtime("[asked.length = 0, told.length = 0]")
    return runtime


def written(store: Runtime) -> str:
    return str(store("store.result.text"))


def test_law_a_sentence_is_loaded_translated_and_shown_in_this_order():
    store = Runtime()
    store('store.translate({ direction: "de-en", text: "eins zwei" })')
    assert [name for name, *_ in store("told")] == [
        *("begin", "waiting", "waiting"),
        *("refuse", "translated", "ended"),
    ]
    assert store("asks()") == [{"direction": "de-en", "text": "eins zwei", "prefix": [], "ablated": []}]
    assert store("[store.busy, store.asked, store.result.direction]") == [False, None, "de-en"]
    assert store("told.at(-1)") == ["ended", False]  # another sentence


def test_law_a_token_of_one_sentence_is_not_forced_on_another(store: Runtime):
    store('[store.translate({ direction: "en-de", text: "four" }), store.force(1, 21)]')
    assert (written(store), store.state["prefix"]) == ("w10", [])


def test_law_only_the_last_request_is_shown(store: Runtime):
    store('["six", "seven eight"].map((text) => store.translate({ direction: "en-de", text }))')
    assert store.state["text"] == "seven eight"
    assert [name for name, *_ in store("told")].count("translated") == 1


def test_law_choices_made_during_a_translation_are_kept(store: Runtime):
    off = "store.compute({ ...store.wanted, ablated: [['encoder', 0, 1]] })"
    store(f"[{off}, store.change({{ layer: 0, step: 2 }})]")
    store("store.compute({ ...store.wanted, ablated: [...store.wanted.ablated, ['encoder', 0, 2]] })")
    assert store.state["ablated"] == [["encoder", 0, 1], ["encoder", 0, 2]]
    assert (store.state["layer"], store.state["step"]) == (0, 2)
    before = len(store("asks()"))
    store("store.compute({ ...store.wanted, ablated: [['cross', 0, 0]] })")
    assert len(store("asks()")) == before + 2  # the model with all heads is remembered
    store("store.allOn()")
    assert store.state["ablated"] == []


def test_law_places_that_a_shorter_translation_lacks_become_its_last(store: Runtime):
    name = "decoder.layers.3.cross_attention.weights"
    store(f"store.change({{ step: 3, word: 3, tensor: '{name}', at: [1, 3, 3] }})")
    store('store.compute({ ...store.state, text: "four" })')
    assert [store.state[key] for key in ("step", "word", "at")] == [1, 1, [1, 1, 1]]
    store("store.change({ tensor: 'no such tensor' })")
    assert (store.state["tensor"], store.state["at"]) == ("", [])


def test_law_a_tensor_opens_at_the_token_in_focus_and_at_the_key_that_it_attends_to_most(store: Runtime):
    store("store.change({ step: 2, word: 1, head: 3 })")
    names = ["encoder.layers.1.self_attention.query", "decoder.layers.0.cross_attention.weights"]
    firsts = [store(f"store.firstIndex('{name}')") for name in (*names, "probabilities")]
    row = store("store.result.attention.cross[0][3][2]")
    assert firsts == [[3, 1, 0], [3, 2, int(max(row, key=lambda key: row[key]))], [2, 30]]


def test_law_an_error_leaves_what_is_shown(store: Runtime):
    store("EngineClient.prototype.translate = async () => { throw new Error('text 0 of 1 is too long'); }")
    store('store.translate({ direction: "en-de", text: "four" })')
    assert store("told.filter(([name]) => name === 'refuse')") == [
        ["refuse", "text 0 of 1 is too long", True]
    ]
    assert [store.state["text"], store("store.busy")] == ["one two three", False]
    assert written(store) == "w10 w20 w30"


LINK = "#direction=en-de&text=one+two+three"
STATES = [
    {},
    {"prefix": [10, 21], "forced": [1], "step": 1},
    {"prefix": [12, 5, 131], "forced": [0, 2], "ablated": [["cross", 3, 1], ["encoder", 0, 4]]},
    {"view": "encoder", "layer": None, "head": 2, "word": 3},
    {"tensor": "decoder.layers.3.cross_attention.weights", "at": [1, 2, 3]},
]


@pytest.mark.parametrize("patch", STATES)
def test_law_a_fragment_holds_the_whole_state(store: Runtime, patch: dict[str, object]):
    state = store(f"({{ ...START, text: 'one & two + \\u00e4', ...{json.dumps(patch)} }})")
    fragment = store(f"toFragment({json.dumps(state)})")
    assert store(f"fromFragment({json.dumps(fragment)})") == state
    assert all(f"{name}=" in fragment for name in patch)


def test_law_an_old_link_calls_the_last_token_of_its_prefix_forced(store: Runtime):
    assert store(f"fromFragment('{LINK}&prefix=10.21').forced") == [1]


INVALID = [
    *("direction=xx-de", "direction=constructor", "layer=4", "head=5", "layer=-1"),
    *("ablated=cross.4.0", "ablated=cross.0.5", "ablated=cross.1.2_cross.1.2", "ablated=cross.1.2.9"),
    *("prefix=2.5.7&view=encoder", "prefix=0"),
    *("prefix=5.7&forced=0", "prefix=5.7&forced=1.0", "prefix=5.7&forced=1.2"),
    f"text={'a' * 1001}",
]


def test_law_an_invalid_link_is_no_state(store: Runtime):
    read = [store(f"fromFragment('{LINK}&{change}')") for change in ("layer=3", *INVALID)]
    assert [bool(state) for state in read] == [True] + [False] * len(INVALID)
