"""List passages of the chapters' prose that need a human reader's judgment.

python -m builder.lint_prose           all chapters and guides
python -m builder.lint_prose NAME …    these, such as 03_scaled_dot_product_attention

It lists sentences with absolute words but no claim nearby, first uses of terms from later chapters, typed
numbers with their source, and large numbers without commas. A line that begins with ! also fails a test.
"""

import json
import sys
from pathlib import Path

from builder.chapters import CHAPTERS, ROOT, written
from builder.lint import absolutes, early_terms, numbers
from builder.lint.source import parse_file


def report(source: Path) -> list[str]:
    """Return the report on one source, line by line."""
    chapter, notebook = parse_file(source), CHAPTERS / f"{source.stem}.ipynb"
    cells = json.loads(notebook.read_text("utf-8"))["cells"] if notebook.exists() else []
    lines = [f"== {source.name}"]
    for debt in absolutes.debts(chapter):
        lines.append(f"  {source.name}:{debt.line}: {', '.join(debt.words)}: {debt.sentence}")
    for use in early_terms.uses(chapter, early_terms.homes(ROOT)):
        mark = " " if use.marked else "!"
        lines.append(f"{mark} {source.name}:{use.line}: look ahead at {use.term!r}: {use.sentence}")
    for typed in numbers.numbers(chapter, cells):
        if typed.passes != "a constant":
            mark, why = (" ", typed.passes) if typed.passes else ("!", "no cell prints it")
            lines.append(f"{mark} {source.name}:{typed.line}: {typed.number} ({why}): {typed.sentence}")
    return [*lines, *(f"! {source.name}: {complaint}" for complaint in numbers.ungrouped(chapter))]


if __name__ == "__main__":
    sources = {source.stem: source for source in written(ROOT)}
    if unknown := sorted(set(sys.argv[1:]) - set(sources)):
        sys.exit(f"no chapter is called {', '.join(unknown)}; there are {', '.join(sources)}")
    for name in sys.argv[1:] or sources:
        print("\n".join(report(sources[name])))
