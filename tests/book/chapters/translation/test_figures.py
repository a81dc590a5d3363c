"""The drawings of the chapter on translation show the given numbers."""

from itertools import chain

import pytest
from sacrebleu.metrics.bleu import BLEU

from annotated_transformer.book.chapters.translation import figures as figures
from annotated_transformer.plotting.palette import FIRST, SECOND
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
    places = [(round(line.get_xdata()[0], 2), round(line.get_ydata()[0], 2)) for line in marks]
    below = {text.get_text(): text.get_position()[0] for text in fig.axes[0].texts}
    assert places[8][0] == pytest.approx((below["x"] + below["c"]) / 2, abs=0.01)  # the bigram "x c"
    rows = [places[first][1] for first in (0, 7, 13, 18)]
    assert rows == sorted({y for _, y in places})
    filled = [line.get_markerfacecolor() == FIRST for line in marks]
    assert filled == list(chain(*figures.matches("a x c a d e .".split(), REFERENCE.split())))
    assert {"6 of 7", "4 of 6", "3 of 5", "2 of 4", "BLEU 12"} <= set(texts(fig))
    assert bold(fig) == ["x", "BLEU 12"]


def test_law_the_kinds_are_sorted_by_the_control_and_marks_are_at_their_counts():
    own, others = {"verb": 7, "roles": 8}, {"verb": [6, 8], "roles": [1, 4]}
    fig = figures.draw_contrasts(own, others, of=8)
    ax = fig.axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["roles", "verb"]
    by_color = {color: [] for color in (FIRST, SECOND)}
    for line in ax.lines:
        if line.get_color() in by_color and line.get_ydata()[0] in (0, 1):
            by_color[line.get_color()].append(list(line.get_xdata()))
    assert by_color == {SECOND: [[1, 4], [2.5], [6, 8], [7]], FIRST: [[8], [7]]}
    (guess,) = (line for line in ax.lines if line.get_linestyle() == "--")
    assert set(guess.get_xdata()) == {4}
    keys = {line.get_color(): line.get_xdata()[0] for line in ax.lines[-2:]}
    ends = {text.get_text(): text.get_position()[0] for text in ax.texts}
    assert abs(keys[FIRST] - ends["own source"]) < 1
    assert abs(keys[SECOND] - ends["another sentence's source"]) < 1
    assert "guessing" in texts(fig)
