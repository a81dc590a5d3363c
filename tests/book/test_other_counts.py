"""A reader's copy may have other numbers of panels, runs, and words: each is drawn, and none is left out."""

from itertools import pairwise

import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.text import Text

from annotated_transformer.book.chapters.cross_attention import figures as cross_attention
from annotated_transformer.book.chapters.decoder import figures as decoder
from annotated_transformer.book.chapters.decoding import step_figures as decoding
from annotated_transformer.book.chapters.encoder import finding_figures as encoder
from annotated_transformer.book.chapters.looking_inside import figures as looking_inside
from annotated_transformer.book.chapters.text_to_batches import figures as text_to_batches
from annotated_transformer.book.chapters.the_same_as_pytorch import figures as the_same_as_pytorch
from annotated_transformer.book.chapters.training import figures as training
from annotated_transformer.book.chapters.transformer import figures as transformer
from annotated_transformer.book.chapters.translation import figures as translation

RUNS = [[2.0, 1.0], [2.5, 0.5]]


def titles(fig: Figure) -> list[str]:
    names = [ax.get_title() or ax.get_title(loc="left") for ax in fig.axes]
    return [name for name in names if name]


ONE_PANEL = {
    "runs": lambda: training.draw_runs({"A": {"none": RUNS}}, guess=2.0),
    "stripes": lambda: looking_inside.draw_stripes({"A": torch.eye(3)}, "aba", period=2, below=["1 of 1"]),
    "restored": lambda: looking_inside.draw_restored({"A": torch.ones(2, 3)}, [["a", "b", "c"]]),
    "padding": lambda: text_to_batches.draw_padding({"A": [[2, 3], [4]]}),
    "budget": lambda: transformer.draw_budget({"A": {"embedding": 3, "layers": 7}}),
    "probes": lambda: encoder.draw_probes({"A": {"own word": [0.5, 1.0]}}, labels=["0", "1"]),
}


@pytest.mark.parametrize("draw", ONE_PANEL.values(), ids=ONE_PANEL)
def test_law_one_panel_is_drawn(draw):
    assert titles(draw()) == ["A"]


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_law_any_number_of_panels_is_drawn_and_the_rest_of_the_last_row_stays_empty(count):
    names = [f"panel {number}" for number in range(count)]
    curves = dict.fromkeys(names, (RUNS, RUNS))
    changed = {name: {"house": 0.75, "hut": 0.25} for name in names}
    for fig in (training.draw_sick_curves(curves, guess=2.0, symptoms={}), decoding.draw_processed(changed)):
        assert titles(fig) == names
        rest = len(fig.axes) - count
        assert [ax.axison for ax in fig.axes] == [True] * count + [False] * rest
        assert rest < 4


NAMES = [f"line {number}" for number in range(6)]
SIX_LINES = {
    "runs": lambda: training.draw_runs({"A": dict.fromkeys(NAMES, RUNS)}, guess=2.0),
    "rates": lambda: training.draw_rates(dict.fromkeys(NAMES, (512, 4000))),
    "recovery": lambda: decoder.draw_recovery(dict.fromkeys(NAMES, RUNS)),
    "shift": lambda: cross_attention.draw_shift(dict.fromkeys(NAMES, (0.5, 1.0))),
    "pruning": lambda: looking_inside.draw_pruning([0, 1], dict.fromkeys(NAMES, RUNS)),
    "sums": lambda: the_same_as_pytorch.draw_sums([2, 4], dict.fromkeys(NAMES, (0.1, 0.2))),
    "gradients": lambda: the_same_as_pytorch.draw_gradients(dict.fromkeys(NAMES, (0.1, 0.2)), tolerance=0.01),
}


@pytest.mark.parametrize("draw", SIX_LINES.values(), ids=SIX_LINES)
def test_law_each_of_six_lines_has_its_name(draw):
    shown = [text.get_text() for text in draw().findobj(Text)]
    names = [text.partition(":")[0] for text in shown]  # a value may follow
    assert [names.count(name) for name in NAMES] == [1] * len(NAMES)


@pytest.mark.parametrize("count", [1, 5, 12])
def test_law_a_sentence_may_have_any_number_of_words(count):
    words = [f"w{number}" for number in range(count)]
    (ax,) = translation.draw_ngrams(" ".join(words), " ".join(words), bleu=100.0).axes
    places = {text.get_text(): text.get_position()[0] for text in ax.texts}
    across = [places[word] for word in [*words, f"{count} of {count}"]]
    assert all(right - left > 0.5 for left, right in pairwise(across))
    parts = {"encoder": {" ".join(words): [0.5] * count}}
    (ax,) = encoder.draw_contributions(parts, {" ".join(words): 3}).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [*words, "sum"]
