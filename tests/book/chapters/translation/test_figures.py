"""The drawings of the chapter on translation show the given numbers."""

import math
from itertools import chain

import pytest
from sacrebleu.metrics.bleu import BLEU

from annotated_transformer.book.chapters.translation import figures as figures
from annotated_transformer.plotting.palette import FIRST, SECOND
from tests.drawings import bold, curves, marks, texts

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
    assert [label.get_text() for label in ax.get_yticklabels()] == ["verb", "roles"]
    by_color = {color: [] for color in (FIRST, SECOND)}
    for line in ax.lines:
        if line.get_color() in by_color:
            by_color[line.get_color()].append(list(line.get_xdata()))
    assert by_color == {SECOND: [[6, 8], [7], [1, 4], [2.5]], FIRST: [[7], [8]]}
    (guess,) = (line for line in ax.lines if line.get_linestyle() == "--")
    assert set(guess.get_xdata()) == {4}
    assert len(ax.patches) == 1  # an arrow, for the kind to which the source adds something
    places = {text.get_text(): text.get_position() for text in ax.texts}
    assert places["own source"][0] == 8
    assert places["wrong source"][0] == 2.5
    assert {"+5.5", "+0.0", "guessing"} <= set(texts(fig))


def test_law_verdicts_are_sorted_by_bleu_and_wrong_ones_are_crosses():
    fig = figures.draw_verdicts({"a": ("is wrong", 84.0, 81.0), "b": ("is right", 30.0, 77.0)})
    first, second = fig.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["right: b", "wrong: a"]
    assert marks(first) == [[30.0], [84.0]]
    assert marks(second) == [[77.0], [81.0]]
    assert [line.get_marker() for line in first.lines] == ["o", "X"]
    assert texts(fig) == ["30", "84", "77", "81"]


def test_law_the_brevity_penalty_is_drawn_at_the_rates():
    fig = figures.draw_brevity((0.5, 0.8))
    curve, *dots = fig.axes[0].lines
    assert [(dot.get_xdata()[0], dot.get_ydata()[0]) for dot in dots] == [
        (0.5, pytest.approx(math.exp(-1))), (0.8, pytest.approx(math.exp(-0.25)))
    ]  # fmt: skip
    assert max(curve.get_ydata()) == 1 == curve.get_ydata()[-1]
    assert {"50% as long: × 0.37", "80% as long: × 0.78"} <= set(texts(fig))


@pytest.mark.parametrize("place", [0, 1, 4, 7])
def test_oracle_one_wrong_token_costs_what_sacrebleu_says(place):
    words = "a b c d e f g h".split()
    wrong = [*words[:place], "x", *words[place + 1 :]]
    score = BLEU(tokenize="none", force=True).corpus_score([" ".join(wrong)], [[" ".join(words)]]).score
    assert figures.wrong_token(8, place) == pytest.approx(score)
    fig = figures.draw_places((8, 11))
    assert [len(curve) for curve in curves(fig.axes[0])] == [8, 11]
    assert curves(fig.axes[0])[0][place] == pytest.approx(score)
    assert "8 tokens: 50 to 84" in texts(fig)


def test_law_each_tokenizer_has_its_tokens_in_boxes():
    words = texts(figures.draw_splits({"spaces": ["er."], "13a": ["er", "."]}))
    assert words == ["13a", "er", ".", "2 tokens", "spaces", "er.", "1 tokens"]


def test_law_the_values_of_one_output_are_sorted():
    fig = figures.draw_same_output({"a": 41.7, "b": 64.1, "c": 37.2})
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == ["c", "a", "b"]
    assert marks(fig.axes[0]) == [[37.2], [41.7], [64.1]]
    assert texts(fig) == ["37.2", "41.7", "64.1"]


def test_law_lengths_have_bleu_its_interval_and_the_share_of_equal_ones():
    rows = [
        {"from": 1, "to": 4, "texts": 50, "bleu": 40.0, "ci": 3.0, "exact": 20},
        {"from": 5, "to": 8, "texts": 20, "bleu": 30.0, "ci": 5.0, "exact": 1},
        {"from": 9, "to": 10000, "texts": 10, "bleu": 20.0, "ci": 6.0, "exact": 0},
    ]
    fig = figures.draw_lengths(rows)
    assert curves(fig.axes[0]) == [
        [40.0, 30.0, 20.0], [37.0, 43.0], [25.0, 35.0], [14.0, 26.0], [40.0, 5.0, 0.0]
    ]  # fmt: skip
    ticks = [label.get_text() for label in fig.axes[0].get_xticklabels()]
    assert ticks == ["1 to 4\n(50)", "5 to 8\n(20)", "9 or more\n(10)"]
    assert set(texts(fig)) == {"BLEU", "% equal to the reference"}


def test_law_bleu_is_drawn_over_the_pairs_in_order():
    fig = figures.draw_sizes({5000: 10.1, 1000: 4.4})
    (line,) = fig.axes[0].lines
    assert list(line.get_xdata()) == [1000, 5000]
    assert list(line.get_ydata()) == [4.4, 10.1]
    assert fig.axes[0].get_xscale() == "log"
    assert texts(fig) == ["4.4", "10.1"]


def test_law_a_pair_is_exchanged_and_a_synthetic_source_is_dashed():
    fig = figures.draw_synthetic("s", "t", "u")
    words = [word for word in texts(fig) if word in ("s", "t", "u")]
    assert words == ["t", "s", "s", "t", "t", "u"]  # first what is written, then what is read
    assert [patch.get_linestyle() for patch in fig.axes[0].patches].count("--") == 1


def test_law_prices_are_sorted_by_bleu():
    fig = figures.draw_prices({"verb": (70.0, 90.0, 5.0), "roles": (20.0, 80.0, 4.25)})
    ticks = [label.get_text() for label in fig.axes[0].get_yticklabels()]
    assert ticks == ["roles (4.2 words)", "verb (5.0 words)"]
    assert marks(fig.axes[0]) == [[20.0], [80.0], [70.0], [90.0]]
    assert {"20", "80", "70", "90", "BLEU", "chrF"} == set(texts(fig))


def test_law_layers_are_drawn_in_percent_beside_the_diagonal():
    fig = figures.draw_layers([0.25, 0.5], [0.75, 0.0], 0.5)
    assert curves(fig.axes[0]) == [[25.0, 50.0], [75.0, 0.0], [50.0, 50.0]]
    assert set(texts(fig)) == {"diagonal", "row predicting", "row going in"}


def test_law_each_stage_continues_where_the_last_one_ended():
    fig = figures.draw_stages({"x": [([0.1, 0.3], "BLEU 1"), ([0.2, 0.15, 0.1], "BLEU 2")]})
    first, end, second, _ = fig.axes[0].lines
    assert list(first.get_ydata()) == [0.1, 0.3]
    assert (list(second.get_xdata()), list(second.get_ydata())) == ([3, 4, 5], [0.2, 0.15, 0.1])
    assert set(end.get_xdata()) == {2}
    assert [text.get_text() for text in fig.axes[0].texts] == ["stage 1: BLEU 1", "stage 2: BLEU 2"]
