"""The drawings of the chapter on masking show the given masks and numbers."""

import math

import pytest
import torch
from matplotlib.transforms import Bbox

from annotated_transformer.book.chapters.masking import figures as figures
from annotated_transformer.book.drawing.model_map import PLACES, draw_model_map
from annotated_transformer.model.masks import causal_mask
from tests.drawings import bold, hatched, texts

WORDS = ["cats", "chase", "mice"]
SOURCE, TARGET = ["dogs", "run", "</s>", "<pad>"], ["<s>", "Hunde", "rennen"]
REAL = torch.tensor([[True, True, True, False]])
MASKS = {
    "encoder self-attention": REAL.expand(4, 4),
    "decoder self-attention": causal_mask(3),
    "cross-attention": REAL.expand(3, 4),
}


def test_law_the_first_figure_shows_the_scores_the_mask_and_both_sets_of_weights():
    scores, mask = torch.tensor([[0.0, 3, 1], [1, 1, 0], [1, 0, 0]]) * math.log(2), causal_mask(3)
    plain, masked = scores.softmax(-1), scores.masked_fill(~mask, -math.inf).softmax(-1)
    fig = figures.draw_with_and_without(WORDS, [[0, 3, 1], [1, 1, 0], [1, 0, 0]], mask, plain, masked)
    assert texts(fig).count("−∞") == 3
    assert {"0.09", "0.73", "0.18", "softmax", "softmax of each row", "$M$"} <= set(texts(fig))
    assert hatched(fig) == 6  # three each in M and in the weights below


def test_law_the_masks_that_are_added_have_as_many_infinities_as_hidden_pairs():
    causal, padding = causal_mask(4), REAL
    fig = figures.draw_mask_sum(SOURCE, padding, causal, padding & causal)
    hidden = sum(int((~mask).sum()) for mask in (padding, causal, padding & causal))
    assert texts(fig).count("−∞") == hatched(fig) == hidden
    assert texts(fig).count("+") == texts(fig).count("=") == 1


@pytest.mark.parametrize("slot", [1, 3])
def test_law_a_slot_reads_up_to_itself_and_predicts_the_next_word(slot):
    fig = figures.draw_slot(["<s>", "a", "b", "</s>"], slot)
    assert f"slot {slot} must predict" in texts(fig)
    assert ["a ?", "b ?", "</s> ?"][slot - 1] in texts(fig)
    assert hatched(fig) == 3 - slot


def test_law_all_runs_are_drawn_and_named():
    runs = {"one": [[3.0, 2.0], [3.0, 2.1]], "two": [[3.0, 1.0]], "three": [[3.0, 0.0]]}
    (ax,) = figures.draw_losses(runs, chance=math.log(10), places=[(0.0, 1.0), (0.0, 2.0), (0.0, 3.0)]).axes
    assert [list(line.get_ydata()) for line in ax.lines[1:]] == [run for r in runs.values() for run in r]
    assert texts(ax.figure) == list(runs)
    assert ax.lines[0].get_ydata()[0] == math.log(10)
    looks = {(line.get_linestyle(), line.get_marker()) for line in ax.lines[1:]}
    assert len(looks) == len(runs)  # so that they can be distinguished without color


def test_law_a_reaction_to_a_later_input_is_marked():
    leaky = causal_mask(6)
    leaky[0, 5] = leaky[2, 4] = True
    fig = figures.draw_reach({"clean": causal_mask(6), "leaky": leaky, "open": causal_mask(6) | True})
    assert texts(fig).count("!") == 2 + 15
    assert hatched(fig) == 15 + 13


def test_law_the_staircase_runs_between_past_and_future():
    weights = torch.ones(3, 3).masked_fill(~causal_mask(3), 0.0) / 3
    fig = figures.draw_staircase(weights)
    (line,) = fig.axes[0].lines
    points = list(zip(line.get_xdata(), line.get_ydata(), strict=True))
    assert points == [(1, 0), (1, 1), (2, 1), (2, 2), (3, 2)]
    assert hatched(fig) == 3


def test_law_each_prefix_is_a_row_of_the_mask():
    fig = figures.draw_prefixes(["<s>", "a", "dog", "runs"], causal_mask(4))
    written = texts(fig)
    assert [written.count(word) for word in ("<s>", "a", "dog", "runs")] == [5, 4, 3, 2]  # once as a column
    assert hatched(fig) == 6


def test_law_masks_of_different_sizes_stand_side_by_side():
    last = causal_mask(5)[-1:]
    fig = figures.draw_masks({"last": last, "all": causal_mask(5)}, rows=[list("abcde"), list("fghij")])
    assert hatched(fig) == 10
    assert texts(fig).count("e") == 2  # the row and the column of the last query
    assert texts(fig).count("a") == 1


def test_law_each_mask_stands_inside_its_own_box_of_the_map():
    fig = draw_model_map(SOURCE, TARGET, masks=MASKS, notes={"cross-attention": "hides padding"})
    cells = [patch.get_bbox() for patch in fig.axes[0].patches if patch.get_hatch()]
    assert hatched(fig) == sum(int((~mask).sum()) for mask in MASKS.values())
    for name, mask in MASKS.items():
        box = PLACES[name].box
        edges = Bbox.from_bounds(box.x, box.y, box.width, box.height)
        inside = [edges.contains(*cell.min) and edges.contains(*cell.max) for cell in cells]
        assert sum(inside) == int((~mask).sum())
    assert "hides padding" in texts(fig)
    assert texts(fig).count("dogs") == 3  # a row and two columns
    assert texts(fig).count("Hunde") == 3  # two rows and a column


def test_law_the_map_without_masks_can_emphasize_one_attention():
    plain = draw_model_map(SOURCE, TARGET)
    assert {"dogs run </s> <pad>", "source", "<s> Hunde rennen", "target so far"} <= set(texts(plain))
    focused = draw_model_map(SOURCE, TARGET, focus="cross-attention")
    assert hatched(plain) == 0
    weights = {text.get_text(): text.get_weight() for text in focused.axes[0].texts}
    assert weights["cross-attention"] == "bold"
    assert weights["self-attention"] == "normal"


@pytest.mark.message
@pytest.mark.parametrize("options", [{"focus": "attention"}, {"masks": {"attention": REAL}}])
def test_message_an_unknown_attention_in_the_map(options):
    with pytest.raises(ValueError, match=r"no 'attention'; it has encoder self-attention, decoder self-att"):
        draw_model_map(SOURCE, TARGET, **options)


@pytest.mark.parametrize("words", [2, 4, 6])
def test_law_slots_and_prefixes_of_any_sentence_fit_into_the_figure(words):
    sentence = list("abcdef"[:words])
    for fig in (
        figures.draw_slot([*sentence, "z"], words),
        figures.draw_prefixes(sentence, causal_mask(words)),
    ):
        (ax,) = fig.axes
        ends = [patch.get_window_extent().x1 for patch in ax.patches]
        assert max(ends) <= ax.get_window_extent().x1


def test_law_the_steps_of_a_softmax_drop_hidden_words_before_the_division():
    fig = figures.draw_steps(WORDS, [0, 3, 1], torch.tensor([True, False, True]))
    words = texts(fig)
    assert {"no mask", "causal mask", "sum 11", "sum 3", "÷ 11", "÷ 3"} <= set(words)
    assert {"0.09", "0.73", "0.18", "0.33", "0.67"} <= set(words)
    assert hatched(fig) == words.count("−∞") + 2 == 3  # the score, its exponential, its weight
    assert bold(fig).count("0.73") == 1  # what the mask is about to hide


def test_law_padding_is_hatched_in_the_batch_and_in_its_mask():
    sentences = [["a", "b", "c"], ["d", "<pad>", "<pad>"]]
    fig = figures.draw_batch(sentences, torch.tensor([[True] * 3, [True, False, False]]))
    assert [word for word in texts(fig) if word] == [*"abcd", "<pad>", "<pad>", "padding mask", "batch"]
    assert hatched(fig) == 4


@pytest.mark.parametrize(
    ("mask", "shift", "where"),
    [(True, True, "hidden"), (False, True, "one slot later"), (True, False, "in its own slot")],
)
def test_law_the_answer_is_framed_where_its_slot_can_read_it(mask, shift, where):
    fig = figures.draw_answers({"kind": (mask, shift)})
    assert f"answer {where}" in texts(fig)
    frames = [patch for patch in fig.axes[0].patches if not patch.get_fill() and patch.get_linewidth() == 2.5]
    slot = {"hidden": None, "one slot later": 2, "in its own slot": 1}[where]
    pitch = 6.1 / 4
    assert [round((frame.get_x() - 0.1) / pitch) for frame in frames] == ([] if slot is None else [slot])
    assert hatched(fig) == (2 if mask else 0)


def test_law_a_blind_query_has_a_row_of_weights_for_each_way():
    ways = {"plain": (torch.full((2,), math.nan), "spreads"), "ours": (torch.zeros(2), "reads nothing")}
    words = texts(figures.draw_blind([1.0, 2.0], ways))
    assert [words.count(word) for word in ("1", "2", "NaN", "0")] == [1, 1, 2, 2]
    assert {"plain", "spreads", "ours", "reads nothing", "all hidden"} <= set(words)


@pytest.mark.parametrize(("other", "framed"), [("bac", 1), ("abc", 0), ("bca", 2)])
def test_law_pasts_that_the_other_order_lacks_are_framed(other, framed):
    fig = figures.draw_pasts([list("abc"), list(other)])
    frames = [patch for patch in fig.axes[0].patches if not patch.get_fill()]
    assert len(frames) == 2 * framed
    words = texts(fig)
    stacks = {word: sum(3 - order.index(word) for order in ("abc", other)) for word in "abc"}
    assert {word: words.count(word) - 2 for word in "abc"} == stacks  # two stand at the bottom
