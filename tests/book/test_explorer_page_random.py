"""The explorer's page, used at random: no order of actions breaks it, and its address holds what it shows."""

import contextlib
import random

from playwright.sync_api import Browser, Page

from tests.explorer_pages import ADDRESS, LINK, go, pages, ready, watched

ACTIONS = 120
PAUSES = 20  # after so many actions, the page is compared with a fresh one
SENTENCES = ["No.", "Tom sees it.", "We read."]  # short, since many are translated
LINKS = [
    "#direction=en-de&text=Tom+sees+it.&step=3",
    "#direction=en-de&text=No.&ablated=cross.3.0&tensor=encoder.positions&at=1.3",
    f"{LINK}&prefix=491&forced=0&view=encoder&word=4",
    f"{LINK}&layer=mean&head=2&tensor=decoder.layers.0.self_attention.scores&at=1.5.6",
]
PRESSED = [  # what may be pressed, and how often: the more often it is named, the likelier
    *[".at-x-option"] * 3,
    *[".at-x-map button"] * 3,
    *[".at-x-sum button"] * 3,
    *[".at-x-head"] * 2,
    *[".at-x-tour button"] * 2,
    ".at-x-word",
    ".at-x-kind .at-x-link",
    ".at-x-choose input",
    ".at-x-map input",
    ".at-x-heat input",
    ".at-x-grid [role=gridcell]",
    ".at-x-steps button",
    ".at-x-action button",
    "button.at-x-action",
    ".at-x-opener button",
    ".at-x-examples button",
    ".at-x-go",
]

PREPARE = """() => {
  Object.assign(window, { pending: 0, pressed: 0, first: navigation.currentEntry.index });
  const { prototype } = EngineClient;
  const { ask } = prototype;
  prototype.ask = function (...question) {
    pending += 1;
    return ask.apply(this, question).finally(() => { pending -= 1; });
  };
  document.querySelectorAll("details.at-x-section").forEach(part => { part.open = true; });
  window.act = (kind, what, chance) => {
    if (kind === "press") {
      const all = [...document.querySelectorAll(what)];
      const found = all.filter(x => x.checkVisibility() && !x.closest("[inert]"));
      if (found.length) {
        found[Math.floor(chance * found.length)].click();
        pressed += 1;
      }
    } else if (kind === "type") {
      document.querySelector(".at-x-field input").value = what;
      document.querySelector(".at-x-form").requestSubmit();
    } else if (kind === "link") location.hash = what;
    else if (kind === "back" && navigation.currentEntry.index > first) history.back();
    else if (kind === "forward") history.forward();
    else if (kind === "escape") {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    }
  };
}"""
ACT = """async actions => {
  for (const action of actions) {
    act(...action);
    await new Promise(done => setTimeout(done));
  }
}"""
QUIET = """async () => {
  for (let still = 0; still < 4; still += 1) {
    await new Promise(done => setTimeout(done, 10));
    if (pending) still = -1;
  }
  return true;
}"""
PLACES = [".at-x-main", ".at-x-off", ".at-x-heat-head", ".at-x-number", ".at-x-grid [aria-selected=true]"]
SHOWN = """places => places.map(place => {
  const part = document.querySelector(place);
  if (!part?.checkVisibility()) return "";
  const copy = part.cloneNode(true);
  copy.querySelectorAll("[data-key^=back]").forEach(back => back.remove()); // of the history
  return copy.textContent;
})"""


def quiet(page: Page) -> None:
    """Wait until the engine has answered, and the page has shown what it answered."""
    page.evaluate(QUIET)
    ready(page)
    page.evaluate(QUIET)


def actions(seed: int) -> list[tuple[str, str, float]]:
    """Return what a reader does at random."""
    draw = random.Random(seed)
    kinds = ["press"] * 14 + ["type", "link", "back", "back", "forward", "escape"]
    chosen = draw.choices(kinds, k=ACTIONS)
    what = {"press": PRESSED, "type": SENTENCES, "link": LINKS}
    return [(kind, draw.choice(what.get(kind, [""])), draw.random()) for kind in chosen]


@pages
def test_law_whatever_a_reader_does_the_address_holds_what_is_shown(browser: Browser):
    faults: list[str] = []
    with contextlib.closing(browser.new_context(reduced_motion="reduce")) as context:
        used, fresh = (watched(context.new_page(), faults) for _ in range(2))
        for page in (used, fresh):
            page.goto(ADDRESS)
            page.click(".at-x-go")
            ready(page)
            page.evaluate(PREPARE)
        seen: set[str] = set()
        acts = actions(seed=1)
        for batch in (acts[i : i + PAUSES] for i in range(0, ACTIONS, PAUSES)):
            used.evaluate(ACT, batch)
            quiet(used)
            address = used.evaluate("location.hash")
            go(fresh, "#direction=en-de&text=Hi.")
            go(fresh, address)
            quiet(fresh)
            assert fresh.evaluate("location.hash") == address, batch
            assert fresh.evaluate(SHOWN, PLACES) == used.evaluate(SHOWN, PLACES), (address, batch)
            assert faults == [], batch
            seen.add(address)
        assert used.evaluate("pressed") > ACTIONS / 3  # what is pressed depends on how fast the engine is
        assert len(seen) > 1
