"""What a chapter asserts: claims, tracked by name, and other checks.

A cell's option `:claims: [NAME, …]` names the claims that it makes, in order. A sentence quotes the value of
one with {claim}`NAME`. On the page, claims and checks stand below the line that ends their section, so the
prose does not link to them. Duplicating a claim, or deleting one that is quoted, fails.

Other checks are in hidden cells (`hide-input`, or `hide-cell` with the first line `# checks`). An `assert`
would end the notebook of a reader who changed a number, so it belongs in exercises only.

These rules do not detect a loosened bound, or a check that is deleted or weakened. The first changes a
committed output; all are left to review.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator

from builder.claim_values import NAME_EACH, QUOTE, ROLE, calls, checks_in, parse_cell
from builder.source import READERS, Part, Source

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LINK = re.compile(r"\[([^\[\]]*)\]\(#claim-")
ITEMS = range(5, 9)  # of what a chapter showed
LOOPS = (ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp)


def lint(chapter: Source) -> list[str]:
    """Return complaints about missing, duplicate, or unnamed claims, and visible checks."""
    return [*named(chapter), *summary(chapter), *checks(chapter)]


def named(chapter: Source) -> Iterator[str]:
    """Compare the claims made with their names and with those that the prose quotes."""
    made: Counter[str] = Counter()
    for part in _own(chapter):
        loops = [node for node in ast.walk(parse_cell(part.text)) if isinstance(node, LOOPS)]
        looped = {ast.unparse(inner) for node in loops for inner in ast.walk(node)}
        claims = calls(part.text, "claim")
        for call in claims:
            text = ast.unparse(call)
            if _hides(call):
                yield f"{text[:60]} hides what it measured; give the number and a bound"
            if re.search(r"<\w", ast.unparse(call.args[0])):
                yield f"{text[:60]} names a tag, which Markdown hides; write it in words"
            if text in looped:
                yield f"{text[:60]} is in a loop or function; give it a sequence of values"
        if len(claims) != len(part.claims):
            option = f":claims: [{', '.join(part.claims)}]"
            yield f"line {part.line}: a cell with {len(claims)} claims has the option {option}; {NAME_EACH}"
        for name in part.claims:
            if not NAME.fullmatch(name):
                yield f"{name!r} cannot be an anchor; name claims by lowercase words joined by hyphens"
        made.update(part.claims)
    for claim, count in made.items():
        if count > 1:
            yield f"{count} claims are named {claim}"
    for role in ROLE.findall(chapter.prose):
        quote = QUOTE.fullmatch(role)
        if not quote or quote["name"] not in made:
            yield f"there is no claim for {{claim}}`{role}`"
    for words in LINK.findall(chapter.prose):
        yield f"[{words}] links to a claim; the line that ends its section shows it"


def summary(chapter: Source) -> Iterator[str]:
    """Look for too few or too many sentences in the list of what was shown, and for marks."""
    texts = [p.text for p in chapter.parts if not p.code and p.section.startswith("What we showed")]
    items = re.findall(r"^- ", "\n".join(texts), re.MULTILINE)
    if chapter.number is not None and len(items) not in ITEMS:
        yield f"What we showed has {len(items)} items, not {ITEMS[0]} to {ITEMS[-1]}"
    if "✓" in "\n".join(texts):
        yield "What we showed has a check mark; it is plain sentences"


def _hides(claim: ast.Call) -> bool:
    """Return whether a claim is that a size is above or below another, so that its line shows no number."""
    bounds = [ast.unparse(word.value) for word in claim.keywords if word.arg in ("above", "below", "between")]
    exact = [ast.unparse(word.value) for word in claim.keywords if word.arg == "equals"]
    if bounds or (exact and "True" not in exact[0] and "False" not in exact[0]):
        return False
    compared = [node for node in ast.walk(claim.args[1]) if isinstance(node, ast.Compare)]
    return any(isinstance(operator, ast.Lt | ast.Gt) for node in compared for operator in node.ops)


def checks(chapter: Source) -> Iterator[str]:
    """Look for asserts, and for checks that are visible or cannot fail."""
    for part in _own(chapter):
        here = checks_in(part.text)
        for line in asserts(part.text):
            yield f"an assert: {line[:60]}; make it check(condition, 'what holds')"
        for line in here if part.visible else []:
            yield f"a visible check: {line[:60]}; make it a claim, or move it to a # checks cell"
        for line in here:
            if re.match(r"check\((True|1|not False)\b", line):
                yield f"a check that cannot fail: {line}"
        if part.checks and not here:
            yield f"a cell of checks without a check: {part.text.strip().splitlines()[-1]}"


def asserts(code: str) -> Iterator[str]:
    """Return the asserts in a cell: statements, and calls to PyTorch's `assert_close`."""
    for node in ast.walk(parse_cell(code)):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Assert) or called.rpartition(".")[2].startswith("assert_"):
            yield ast.unparse(node)


def _own(chapter: Source) -> list[Part]:
    return [part for part in chapter.parts if part.code and not part.tags & READERS]
