"""A source is parsed into what it defines: each object with its label, its number, and its text."""

from builder.source import Section, parse, split_sections

MORE = """
(twice)=
## The sum

$$
a = b
$$

$$
|c| = d
$$ (eq-one)

```python
## no section
```
"""


def test_law_a_source_has_what_it_defines(small):
    source = parse(small.replace("\n## The equation", f"{MORE}\n## The equation"), "01_fixture.md")
    assert (source.number, source.title.split()[:3], source.topic) == (
        1,
        ["A", "small", "chapter"],
        "triangles",
    )
    assert Section("The sum", "twice", 2) in source.sections
    assert [figure.number for figure in source.figures] == ["1.1", "1.2"]
    assert source.figures[1].title == "Half a square is hatched"
    assert source.equations == [("eq-one", "|c| = d", "1.1")]
    (exercise,) = source.exercises
    assert exercise.heading == "Exercise 1.1 · Implement ★ · Count the pairs"
    assert (exercise.label, exercise.text, exercise.check) == (
        *("ex-square", "How many pairs have n tokens?\n", "check_square(pairs)"),
    )
    assert exercise.solution.startswith("def pairs_solution")
    assert [(entry.kind, entry.anchor) for entry in source.entries] == [
        *(("A number", "asked-the-loss-is-nan"), ("A number", "asked-the-loss-is-too-good")),
        *(("", "asked-a-loop"), ("", "asked-does-an-encoder-need-one")),
    ]
    assert [entry.whence for entry in source.entries[1:]] == [
        *("experience", "read in its code: torch 2.13", "derived"),
    ]
    assert source.entries[3].text.endswith("triangle.\nAll of it may be read.")
    assert "- *Test.* Look at the first row.\n" in source.entries[1].text
    assert source.in_handbook >= {"symptoms", "a-number", "asked-a-loop"}
    assert not source.in_handbook & {"the-sum", "twice", "figure-1-1", "claim-nearly-half"}


def test_law_a_section_begins_with_its_labels_and_not_in_code():
    titles = [(title, text.strip()[:8]) for title, text in split_sections(f"Text.\n{MORE}\n## By *hand*\n")]
    assert titles == [("", "Text."), ("The sum", "(twice)="), ("By *hand*", "## By *h")]
