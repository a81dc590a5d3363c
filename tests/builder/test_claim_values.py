"""The values of claims, and the sentences that quote them."""

import nbformat
import pytest

from builder import claim_values, staleness

new = nbformat.v4
SEEDS = "✓ gap: **0.12 to 0.13, 3 values** (the book says below 0.2)"
EXACT = "✓ pronouns: **['es', 'sie']** (exactly)"


def claims_of(*named: tuple[str, str, object]) -> nbformat.NotebookNode:
    """Return a cell that displays claims with these names, texts, and stored values, and another line.

    A dictionary for the value is the bound of a value that moves.
    """
    outputs = [
        new.new_output(
            "display_data",
            {"text/markdown": text},
            metadata={
                "claim": {"value": [0.3], "bound": value, "moves": True}
                if isinstance(value, dict)
                else {"value": value}
            },
        )
        for _, text, value in named
    ]
    outputs.insert(1, new.new_output("display_data", {"text/markdown": "✓ right."}))
    return new.new_code_cell("claim()", metadata={"claims": [name for name, *_ in named]}, outputs=outputs)


CELL = claims_of(
    ("gap", SEEDS, [0.1234, 0.1301, 0.1199]),
    ("pronouns", EXACT, "['es', 'sie']"),
    ("count", "✓ entries: **1,234** (exactly)", "1,234"),
    ("falls", "✓ slope: **-0.5** (the book says below 0)", [-0.5]),
    ("equal", "✓ rows are equal", "True"),
    ("worst", "✓ worst: **0.3** (the book says below 0.4)", {"below": 0.4}),
    ("range", "✓ range: **0.3** (the book says between -0.2 and 2)", {"between": [-0.2, 2.0]}),
    ("long", "✓ change: **0.05** (the book says above 0.01)", [0.04804690342251472]),
    ("tiny", "✓ error: **less than 1e-12** (the book says rounding error only)", [1e-16]),
)


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("gap", "0.12 to 0.13"),
        ("gap[0] :.3f", "0.123"),
        ("gap[-1]", "0.1199"),
        ("gap :.0%", "12% to 13%"),
        ("gap :.1f", "0.1"),
        ("pronouns", "['es', 'sie']"),
        ("pronouns[1]", "sie"),
        ("count", "1,234"),
        ("count :.1e", "1.2e+03"),
        ("falls", "−0.5"),
        ("tiny", "less than 1e-12"),
        ("worst", "0.4"),
        ("worst :.0%", "40%"),
        ("range", "−0.2 to 2"),
        ("range[1] :.1f", "2.0"),
        ("range[1]", "2"),
    ],
)
def test_law_a_sentence_quotes_a_claim_as_asked(role, text):
    words = new.new_markdown_cell(f"It is {{claim}}`{role}`.")
    claim_values.fill([words, CELL])
    assert words.source == f"It is {text}."


@pytest.mark.message
@pytest.mark.parametrize(
    ("role", "message"),
    [
        ("gaps", r"{claim}`gaps` names no claim of this chapter; .* one of gap, pronouns"),
        ("gap [0]", r"{claim}`gap \[0\]` names no claim"),
        ("gap[3] :.1f", r"{claim}`gap\[3\] :.1f` cannot quote 'gap: .*': list index out of range"),
        ("gap :.0y", r"cannot quote 'gap: .*': Unknown format code 'y'"),
        ("pronouns :.1f", r'cannot quote "pronouns: .*": could not convert string to float'),
        ("long[0]", r"cannot quote 'change: .*': 0\.04804690342251472 needs a format: long\[0\] :\.2f"),
        ("equal", r"{claim}`equal` cannot quote 'rows are equal': it has no number"),
    ],
)
def test_message_a_sentence_quotes_what_is_not_there(role, message):
    with pytest.raises(ValueError, match=message):
        claim_values.fill([new.new_markdown_cell(f"{{claim}}`{role}`"), CELL])


@pytest.mark.message
def test_message_a_cell_with_another_number_of_claims_than_names():
    cell = claims_of(("one", "✓ a", 1))
    cell.metadata.claims = ["one", "two"]
    sentence = r"displayed 1 claims, and its option :claims: has 2 names \(one, two\); .* begins 'claim\(\)'"
    with pytest.raises(ValueError, match=sentence):
        claim_values.named_claims(cell)
    del cell.metadata["claims"]
    with pytest.raises(
        ValueError, match=r"displayed 1 claims, .* has 0 names \(none\); name each, .* as in :claims: \["
    ):
        claim_values.named_claims(cell)


def test_law_a_notebook_quotes_the_values_that_it_has_and_is_built_again_if_its_claims_move():
    def notebook_of(*cells: nbformat.NotebookNode) -> nbformat.NotebookNode:
        kernel = {"kernelspec": {"name": "python3", "display_name": "x"}}
        return new.new_notebook(cells=list(cells), metadata=kernel)

    words = new.new_markdown_cell("It is {claim}`gap[0] :.2f`.")
    claim = claims_of(("gap", SEEDS, [0.1234]))
    claim.outputs = [claim.outputs[0]]
    bare = new.new_code_cell(claim.source, metadata=claim.metadata, id=claim.id)
    built = notebook_of(new.new_markdown_cell("It is 0.11."), claim)
    assert staleness.rewritten(built, notebook_of(words.copy(), bare)).cells[0].source == "It is 0.12."
    assert staleness.rewritten(built, notebook_of(words, new.new_code_cell("x = 1"), bare)) is None
