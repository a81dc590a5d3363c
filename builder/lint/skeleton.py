"""The skeleton of a chapter: the order of its sections, its figures, and its exercises."""

import ast
import re
from collections.abc import Iterator
from itertools import groupby, takewhile

from builder.claim_values import calls
from builder.figure_words import BLANK
from builder.lint.cells import before_exercises, cells, weight
from builder.source import KINDS, READERS, SEEN, SYMPTOMS, WHENCES, Source, blocks

# The beginnings of the section titles, in order; other sections may come between them.
SECTIONS = (
    "By hand",
    "The equation",
    "The code",
    "An experiment",
    "Exercises",
    "What we showed",
    "Further reading",
)
IN_HANDBOOK = ("Symptoms", "In other libraries", "Why not", "Questions", "Common mistakes")
HEADINGS = 8  # before the exercises
WORDS = 4000  # of Markdown before the exercises, captions and alt texts included
LONGER = {21: 4500, 22: 4500}
SYMPTOM = re.compile(r"- \*Cause\.\* .+^- \*Test\.\* .+^- \*Repair\.\* .+", re.MULTILINE | re.DOTALL)
WHENCE_TABLE = re.compile(r"^\|.*\| Whence \|\n\|[-:| ]+\|\n((?:\|.+\n?)+)", re.MULTILINE)
TARGET = re.compile(r"\{(?:ref|doc|eq)\}`|\]\(#")
EXERCISES = range(5, 8)
NEEDED_KINDS = {"predict", "implement", "debug"}
LINKS = range(3, 7)
SHADE = re.compile(r"\b(?:dark|bright|black|white|pale|lighter)\w*", re.IGNORECASE)
MARKUP = re.compile(r"\]\(|`|\$|\*\w[^*]*\*")
ROLE = re.compile(r"\{claim\}`[^`]*`")
SHOWN = ("show_figure", "show_slider", "show_drag", "show_explorer", "show_heat", "show_way")


def lint(chapter: Source) -> list[str]:
    """Return complaints about a source; a guide's opening, cells, and figures follow a chapter's rules."""
    rules = (opening, order, length, sections, links, figures, exercises, cells, weight, terms, handbook)
    chosen = (opening, figures, cells) if chapter.number is None else rules
    return [complaint for rule in chosen for complaint in rule(chapter)]


def opening(chapter: Source) -> Iterator[str]:
    """Check the opening: everything before the first section."""
    prose = "\n".join(part.text for part in chapter.parts if not part.code and not part.section)
    if len(chapter.title.split()) < 4:
        yield "the title must be a sentence with a verb, of four words or more"
    if "\n**The question.**" not in prose:
        yield "the chapter must open with **The question.**"
    if not chapter.header.get("prerequisites"):
        yield "the front matter has no prerequisites: [what a reader needs, with a link to its chapter]"
    if not re.search(r"^\*Reading: .+? Running: .+? Paper: [^*]+\*$", prose, re.MULTILINE | re.DOTALL):
        yield "no line *Reading: … Running: … Paper: …*"
    first = next((part.text for part in chapter.parts if part.code), "")
    if "torch.set_num_threads(1)" not in first:
        yield "the first code cell must call torch.set_num_threads(1): low bits depend on the thread count"


def order(chapter: Source) -> Iterator[str]:
    """Check the headings and their order."""
    required = (*SECTIONS, *IN_HANDBOOK)
    headings = [section.title for section in chapter.sections if section.level == 2]
    begins = [next((name for name in required if heading.startswith(name)), None) for heading in headings]
    known = list(dict.fromkeys(name for name in begins if name))
    missing = [name for name in required if name not in known]
    if missing:
        yield f"sections are missing: {', '.join(missing)}"
    if known != [name for name in required if name in known]:
        yield f"the sections are out of order: {', '.join(known)}"
    if SECTIONS[-1] in known and begins[begins.index(SECTIONS[-1]) :] != [*required[len(SECTIONS) - 1 :]]:
        yield f"after {SECTIONS[-1]} come those of the handbook, {', '.join(IN_HANDBOOK)}, and no others"


def length(chapter: Source) -> Iterator[str]:
    """Check how many words and sections a chapter has before its exercises."""
    titles = [section.title for section in chapter.sections if section.level == 2]
    headings = sum(1 for _ in takewhile(lambda title: not title.startswith("Exercises"), titles))
    if headings > HEADINGS:
        yield f"{headings} sections before the exercises, more than {HEADINGS}"
    parts = before_exercises(chapter)
    words = sum(len(part.text.split()) for part in parts if not part.code)
    most = LONGER.get(chapter.number or 0, WORDS)
    if words > most:
        yield f"{words} words before the exercises, more than {most}"


def handbook(chapter: Source) -> Iterator[str]:
    """Check the entries of a chapter's handbook."""
    anchors = set()
    for entry in chapter.entries:
        name = f"{entry.section}: {entry.title[:50]!r}"
        if entry.anchor in anchors:
            yield f"{name} occurs twice"
        anchors.add(entry.anchor)
        if "](" in entry.title or "}`" in entry.title:
            yield f"{name}: a title has no link"
        known = entry.whence.partition(":")[0] in WHENCES and "{whence}" not in entry.text
        if not known:
            yield f"{name}: its first line does not end with one {{whence}}`…`, of {', '.join(WHENCES)}"
        if entry.section != SYMPTOMS:
            continue
        if entry.kind not in SEEN:
            yield f"{name} is in {entry.kind or 'no subsection'}, not in one of {', '.join(SEEN)}"
        if not SYMPTOM.search(entry.text):
            yield f"{name} has not the items *Cause.*, *Test.*, *Repair.*"
        if not TARGET.search(entry.text):
            yield f"{name} has no link to the section that teaches it"
    for rows in WHENCE_TABLE.findall("\n".join(part.text for part in chapter.parts if part.handbook)):
        for row in rows.splitlines():
            if (kind := row.rstrip().split("|")[-2].strip()).partition(":")[0] not in WHENCES:
                yield f"a row of a table ends with {kind!r}, not with one of {', '.join(WHENCES)}"


def sections(chapter: Source) -> Iterator[str]:
    """Check the required content of each section."""
    for section, group in groupby(chapter.parts, key=lambda part: part.section):
        parts = list(group)
        code = [part.text for part in parts if part.code]
        if section.startswith("The code") and not any(calls(text, "show_source") for text in code):
            yield f"{section}: no show_source"
        if section.startswith("An experiment") and not any(calls(text, "claim") for text in code):
            yield f"{section}: no claim"
        if section.startswith("Further reading"):
            texts = [block.text for part in parts if not part.code for block in blocks(part.text)]
            items = [text for text in texts if re.match(r"(?:[-*]|\d+\.) ", text)]
            if len(items) not in LINKS:
                yield f"{section}: {len(items)} items, not {LINKS[0]} to {LINKS[-1]}"
            for item in items:
                if "https://" not in item and "http://" not in item:
                    yield f"{section}: an item without a URL: {item.strip()[:60]}"


def links(chapter: Source) -> Iterator[str]:
    """Look for links that insert a chapter's whole title into a sentence."""
    for line in chapter.prose.splitlines():
        if not line.startswith(("|", "Next: ")):
            for name in re.findall(r"\{doc\}`(\d\w+)`", line):
                yield f"a link without its own text: write {{doc}}`chapter {int(name[:2])} <{name}>`"


def figures(chapter: Source) -> Iterator[str]:
    """Check how figures are numbered, linked, and shown, and that one comes early."""
    code = "\n".join(part.text for part in chapter.parts if part.code)
    ways = r"plt\.\w+|pyplot|\bImage\(|\bHTML\(|!\[[^\]]*\]\(|<img"
    for way in re.findall(ways, f"{chapter.prose}\n{code}"):
        yield f"{way} bypasses show_figure and show_slider"
    numbered = list(numbers(chapter))
    letter = numbered[0].partition(".")[0] if numbered else ""
    before = letter if chapter.number is None else str(chapter.number)
    ordered = [f"{before}.{place}" for place in range(1, len(numbered) + 1)]
    if numbered != ordered:
        yield f"figures are numbered {', '.join(numbered)}; in reading order they are {', '.join(ordered)}"
    for words, anchor in re.findall(r"\[([^\]]*)\]\(#figure-([\w-]+)\)", chapter.prose):
        number = anchor.replace("-", ".")
        if number not in numbered:
            yield f"there is no figure {number}, but {words!r} links to it"
        elif re.search(r"\d", words) and number not in words:
            yield f"{words!r} links to figure {number}"
    for figure in chapter.figures:
        if shade := SHADE.search(BLANK.split(figure.text)[-1]):
            yield f"the caption of figure {figure.number} says {shade[0]!r}, false in light or dark mode"
        if markup := MARKUP.search(ROLE.sub("", figure.title + figure.text)):
            yield f"the words of figure {figure.number} have {markup[0]!r}, and a page shows them as they are"
    if chapter.number is None:
        return
    if "show_slider(" not in code:
        yield "no show_slider"
    headings = list(dict.fromkeys(part.section for part in chapter.parts))
    early = "\n".join(part.text for part in chapter.parts if part.code and part.section in headings[:2])
    if not any(f"{way}(" in early for way in SHOWN):
        yield "no picture in the opening or the first section"


def numbers(chapter: Source) -> Iterator[str]:
    """Return the number of each figure, in reading order."""
    for part in chapter.parts:
        if not part.code or part.tags & READERS:
            continue
        for call in calls(part.text, *SHOWN):
            number = call.args[0] if call.args else None
            yield str(number.value) if isinstance(number, ast.Constant) else "(not written out)"


def exercises(chapter: Source) -> Iterator[str]:
    """Check the number, kinds, and stars of the exercises."""
    for exercise in chapter.exercises:
        name = exercise.label or exercise.title or "an exercise"
        if not exercise.title:
            yield f"{name}: no title"
        if not exercise.label.startswith("ex-"):
            yield f"{name}: no label ex-…"
        if not exercise.kind or not exercise.stars:
            yield f"{name}: no class such as `implement stars-2`, one of {', '.join(sorted(KINDS))}"
    count = len(chapter.exercises)
    if count not in EXERCISES:
        yield f"{count} exercises, not {EXERCISES[0]} to {EXERCISES[-1]}"
    if missing := NEEDED_KINDS - {exercise.kind for exercise in chapter.exercises}:
        yield f"no exercise of the kind {', '.join(sorted(missing))}"


def terms(chapter: Source) -> Iterator[str]:
    """Check the terms that the chapter introduces."""
    introduced = chapter.header.get("terms")
    if not isinstance(introduced, dict) or not introduced:
        yield "the front matter has no terms: a mapping of each new term to one sentence"
        return
    for term, meaning in introduced.items():
        if not isinstance(meaning, str) or len(meaning.split()) < 4 or not meaning.rstrip().endswith("."):
            yield f"terms: {term} is not explained by a sentence"
