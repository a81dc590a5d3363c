"""The drawings of the chapter on translation show the given numbers."""

from itertools import chain

import pytest
from sacrebleu.metrics.bleu import BLEU

from annotated_transformer.book.drawing import translation as figures
from annotated_transformer.book.drawing.palette import FIRST, SECOND
from tests.drawings import bold, texts

REFERENCE = "a b c a d e ."


@pytest.mark.parametrize("hypothesis", [REFERENCE, "a a a b c .", "x b c a y e .", "e d ."])
def test_oracle_matches_are_those_that_sacrebleu_counts(hypothesis):
    score = BLEU(tokenize="none", force=True).corpus_score([hypothesis], [[REFERENCE]])
    rows = figures.matches(hypothesis.split(), REFERENCE.split())
    assert [sum(row) for row in rows] == score.counts
    assert [len(row) for row in rows] == score.totals


def test_law_each_n_gram_is_a_mark_filled_if_it_matches():
    fig = figures.draw_ngrams("a x c a d e .", REFERENCE, bleu=12.3)
    marks = fig.axes[0].lines
    assert len(marks) == 7 + 6 + 5 + 4
    filled = [line.get_markerfacecolor() == FIRST for line in marks]
    assert filled == list(chain(*figures.matches("a x c a d e .".split(), REFERENCE.split())))
    assert {"6 of 7", "4 of 6", "3 of 5", "2 of 4", "BLEU 12"} <= set(texts(fig))
    assert bold(fig) == ["x", "BLEU 12"]


def test_law_the_kinds_are_sorted_by_the_control_and_marks_are_at_their_counts():
    own, others = {"verb": 8, "roles": 7}, {"verb": [6, 8], "roles": [1, 4]}
    fig = figures.draw_contrasts(own, others, of=8)
    ax = fig.axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["roles", "verb"]
    by_color = {color: [] for color in (FIRST, SECOND)}
    for line in ax.lines:
        if line.get_color() in by_color and line.get_ydata()[0] in (0, 1):
            by_color[line.get_color()].append(list(line.get_xdata()))
    assert by_color == {SECOND: [[1, 4], [2.5], [6, 8], [7]], FIRST: [[7], [8]]}
    assert "guessing" in texts(fig)
