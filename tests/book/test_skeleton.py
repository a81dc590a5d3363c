"""Every chapter has the same skeleton, so that a reader knows where to look: a lint of the sources."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jupytext
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "chapters" / "src").glob("*.md"))
CHAPTERS = [
    path for path in SOURCES if path.name[0].isdigit()
]  # the others are guides: how to use the package

# How the sections begin, in their order; others may stand between.
SECTIONS = (
    "By hand",
    "The equation",
    "The code that the model runs",
    "An experiment",
    "Questions readers ask",
    "Exercises",
    "What we showed",
)
PAGES = {"preface", "notation", "bibliography"}  # which run nothing
FOLDED = {"hide-input", "remove-input", "hide-cell"}  # not in a reader's way
LIVE = {"remove-output", "nbval-ignore-output"}
LONGEST_CELL = 20
EXERCISES = 3


class Part(NamedTuple):
    """A piece of a chapter: prose, or a code cell; under which heading it stands."""

    section: str
    text: str
    code: bool = False
    tags: frozenset[str] = frozenset()


def parts(text: str) -> Iterator[Part]:
    """Read a source in its order."""
    section = ""
    for cell in jupytext.reads(text, fmt="md:myst").cells:
        if cell.cell_type == "code":
            yield Part(section, cell.source, True, frozenset(cell.metadata.get("tags", [])))
            continue
        for piece in re.split(r"^(?=## )", cell.source, flags=re.MULTILINE):
            if piece.startswith("## "):
                section = piece[3:].splitlines()[0]
            yield Part(section, piece)


def lint(text: str) -> list[str]:
    """Return what a chapter's source lacks."""
    pieces = list(parts(text))
    return [*opening(pieces), *order(pieces), *experiments(pieces), *figures(pieces), *cells(pieces)]


def lint_guide(text: str) -> list[str]:
    """Return what a guide's source lacks: it opens as a chapter does, and its claims are proven."""
    pieces = list(parts(text))
    return [*opening(pieces), *claims(pieces), *bypasses(pieces), *cells(pieces)]


def opening(pieces: list[Part]) -> Iterator[str]:
    """Look at what stands before the first section."""
    prose = "\n".join(piece.text for piece in pieces if not piece.code and not piece.section)
    title = re.search(r"^# (.+)$", prose, re.MULTILINE)
    if not title or len(title[1].split()) < 4:
        yield "the title is a sentence with a verb, of four words or more"
    if "\n**The question.**" not in prose:
        yield "the chapter opens with **The question.**"
    if "| Before this chapter you need |" not in prose:
        yield "a table tells what to know before"
    if not re.search(r"^\*Reading: .+? Running: .+? Paper: [^*]+\*$", prose, re.MULTILINE | re.DOTALL):
        yield "a line tells *Reading: … Running: … Paper: …*"
    first = next((piece.text for piece in pieces if piece.code), "")
    if "torch.set_num_threads(1)" not in first:
        yield "the first code cell calls torch.set_num_threads(1): low bits depend on the number of threads"


def order(pieces: list[Part]) -> Iterator[str]:
    """Look at the sections."""
    found = list(dict.fromkeys(piece.section for piece in pieces))
    begins = [next((want for want in SECTIONS if section.startswith(want)), None) for section in found]
    known = list(dict.fromkeys(want for want in begins if want))
    missing = [want for want in SECTIONS if want not in known]
    if missing:
        yield f"sections are missing: {', '.join(missing)}"
    if known != [want for want in SECTIONS if want in known]:
        yield f"the sections stand in another order: {', '.join(known)}"
    if known and known[-1] == SECTIONS[-1] and begins[-1] != SECTIONS[-1]:
        yield f"the chapter ends with {SECTIONS[-1]}, not with {found[-1]}"


def experiments(pieces: list[Part]) -> Iterator[str]:
    """Look for a claim and its proof in each experiment, and for the shown source."""
    code = {piece.section: "" for piece in pieces} | {}
    prose = dict(code)
    for piece in pieces:
        (code if piece.code else prose)[piece.section] += piece.text + "\n"
    for section in code:
        if section.startswith("The code that the model runs") and "show_source(" not in code[section]:
            yield f"{section}: no show_source"
        if section.startswith("An experiment"):
            if "**Claim.**" not in prose[section]:
                yield f"{section}: no **Claim.**"
            if not re.search(r"^\s*assert |assert_close\(", code[section], re.MULTILINE):
                yield f"{section}: no assert proves the claim"


def claims(pieces: list[Part]) -> Iterator[str]:
    """Look for a proof in the cell after each claim."""
    for piece, after in zip(pieces, [*pieces[1:], None], strict=True):
        if not piece.code and "**Claim.**" in piece.text:
            if not (
                after and after.code and re.search(r"^\s*assert |assert_close\(", after.text, re.MULTILINE)
            ):
                yield f"{piece.section}: no assert proves the claim"


def bypasses(pieces: list[Part]) -> Iterator[str]:
    """Look for figures that bypass their description."""
    everything = "\n".join(piece.text for piece in sorted(pieces, key=lambda piece: not piece.code))
    ways = r"plt\.\w+|pyplot|\bImage\(|\bHTML\(|!\[[^\]]*\]\(|<img|\.savefig"
    for way in re.findall(ways, everything):
        yield f"{way} bypasses show_figure and show_slider"


def figures(pieces: list[Part]) -> Iterator[str]:
    """Look at the figures, and for the slider and the exercises."""
    code = "\n".join(piece.text for piece in pieces if piece.code)
    prose = "\n".join(piece.text for piece in pieces if not piece.code)
    yield from bypasses(pieces)
    if "show_slider(" not in code:
        yield "no show_slider"
    exercises = re.findall(r"^:label: (ex-\S+)", prose, re.MULTILINE)
    if len(set(exercises)) < EXERCISES:
        yield f"{len(set(exercises))} exercises, where {EXERCISES} are asked for"


def cells(pieces: list[Part]) -> Iterator[str]:
    """Look at each code cell: short, between prose, tagged if it is live."""
    for before, piece in zip([None, *pieces], pieces, strict=False):
        if not piece.code:
            continue
        name = repr(piece.text.strip().splitlines()[0]) if piece.text.strip() else "an empty cell"
        if re.search(r"^[!%]|filterwarnings|simplefilter", piece.text, re.MULTILINE):
            yield f"{name}: no shell, no magic, no silenced warning"
            continue
        if length(piece.text) > LONGEST_CELL and not piece.tags & FOLDED:
            yield f"{name}: {length(piece.text)} lines, more than {LONGEST_CELL}; split or fold it"
        if re.search(r"^explore\(", piece.text, re.MULTILINE) and not piece.tags >= LIVE:
            yield f"{name}: a live cell is tagged {', '.join(sorted(LIVE))}"
        if before and before.code and not (before.tags | piece.tags) & (FOLDED | LIVE):
            yield f"{name}: prose stands between two code cells"


def length(code: str) -> int:
    """Count the lines of a cell that are no import."""
    imports = [node for node in ast.parse(code).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return len(code.splitlines()) - sum((node.end_lineno or 0) - node.lineno + 1 for node in imports)


def test_law_every_chapter_has_the_skeleton():
    assert {path.name: lint(path.read_text("utf-8")) for path in CHAPTERS} == {
        path.name: [] for path in CHAPTERS
    }


def test_law_every_guide_opens_as_a_chapter_and_proves_its_claims():
    guides = [path for path in SOURCES if path not in CHAPTERS]
    assert guides
    assert {path.name: lint_guide(path.read_text("utf-8")) for path in guides} == {
        path.name: [] for path in guides
    }


def test_law_a_claim_of_a_guide_without_proof_is_named(good):
    assert lint_guide(good) == []
    unproven = re.sub(r"^assert hidden", "hidden", good, flags=re.MULTILINE)
    assert unproven != good
    assert any("no assert proves the claim" in line for line in lint_guide(unproven))


def test_law_the_table_of_contents_and_the_sources_name_the_same_chapters():
    listed = set(
        re.findall(r"\bchapters/(\w+)\b(?!/)", yaml.dump(yaml.safe_load((ROOT / "_toc.yml").read_text())))
    )
    assert listed - PAGES == {path.stem for path in SOURCES}
    assert listed > PAGES


@pytest.fixture
def good() -> str:
    text = (Path(__file__).parent / "fixture" / "01_fixture.md").read_text("utf-8")
    two_more = "\n".join(f"```{{exercise}}\n:label: ex-{name}\n```\n" for name in ("one", "two"))
    return text.replace("## What we showed", two_more + "\n## What we showed")


def test_law_the_small_chapter_lacks_nothing(good):
    assert lint(good) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "# A small chapter proves the machinery that carries the large ones",
            "# Masks",
            "the title is a sentence",
        ),
        ("**The question.**", "The question.", "the chapter opens with"),
        ("| Before this chapter you need |", "| Before |", "a table tells"),
        ("*Reading: 1 minute. Running", "*Running", "a line tells"),
        ("torch.set_num_threads(1)", "", "the first code cell calls"),
        ("## Questions readers ask", "## Questions", "sections are missing: Questions readers ask"),
        ("## The equation, in one line", "## What we showed, first", "the sections stand in another order"),
        (
            "- A mask is a triangle",
            "## More\n\n- A mask",
            "the chapter ends with What we showed, not with More",
        ),
        ("show_source(causal_mask)", "causal_mask", "The code that the model runs: no show_source"),
        ("**Claim.**", "Claim.", "An experiment: how much a mask hides: no **Claim.**"),
        ("assert hidden[-1] > 0.45", "hidden[-1] > 0.45", "An experiment: how much a mask hides: no assert"),
        ("fig, ax = new_figure()", "fig, ax = plt.subplots()", "plt.subplots bypasses show_figure"),
        ("**Why not?**", "![](map.png)", "![]( bypasses show_figure"),
        ("show_slider(\n    draw", "print(\n    draw", "no show_slider"),
        (":label: ex-one", ":label: ex-two", "2 exercises, where 3 are asked for"),
        (":tags: [hide-input]\n\nfig, ax", "\n" * 2 + "x = 0\n" * 20 + "fig, ax", "lines, more than 20"),
        (
            ":tags: [remove-output, nbval-ignore-output]\n\nexplore",
            ":tags: [remove-output]\n\nexplore",
            "a live cell",
        ),
        ("hidden = [", "%time\nhidden = [", "no shell, no magic"),
        ("They agree.", "```{code-cell} ipython3\n1\n```", "prose stands between two code cells"),
    ],
)
def test_law_what_is_missing_is_named(good, old, new, complaint):
    assert old in good
    found = lint(good.replace(old, new, 1))
    assert any(complaint in line for line in found), found
