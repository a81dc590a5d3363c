"""The drawings of weights and masks show the given ones."""

import torch
from matplotlib.colors import to_rgba

from annotated_transformer.book.chapters.the_same_as_pytorch import layouts
from annotated_transformer.book.chapters.the_same_as_pytorch.laws import all_masks
from annotated_transformer.plotting.palette import FIRST, KEY, QUERY, SECOND, VALUE
from tests.drawings import bold, texts


def test_law_a_fused_matrix_has_a_block_for_each_part():
    fig = layouts.draw_fused("in_proj", (9, 2), {"q": (3, 2), "k": (3, 2), "v": (3, 2)})
    assert texts(fig) == ["q", "3 × 2", "k", "3 × 2", "v", "3 × 2", "in_proj, 9 × 2"]
    (ax,) = fig.axes
    blocks = [patch for patch in ax.patches if hasattr(patch, "get_xy") and patch.get_hatch()]
    colors = [patch.get_edgecolor() for patch in blocks]
    assert colors[0::2] == colors[1::2]
    assert colors[0::2] == [to_rgba(color) for color in (QUERY, KEY, VALUE)]


def test_law_cells_of_a_kind_have_one_color():
    fig = layouts.draw_layouts({"heads": (list("1122"), list("1212"))}, names=("here", "there"))
    assert texts(fig) == ["heads", "here", *"1122", "there", *"1212"]
    assert bold(fig) == ["heads"]
    colors = [patch.get_edgecolor() for patch in fig.axes[0].patches]
    assert colors[0] == colors[1] == colors[4] == colors[6] != colors[2]


def test_law_each_mask_is_drawn_and_each_blind_query_framed():
    masks = list(all_masks(2, 3))
    (ax,) = layouts.draw_masks(masks).axes
    filled = [patch for patch in ax.patches if patch.get_facecolor() == to_rgba(FIRST)]
    assert len(filled) == sum(int(mask.sum()) for mask in masks) == 64 * 3
    framed = [patch for patch in ax.patches if patch.get_width() == 3]
    assert len(framed) == sum(int((~mask.any(1)).sum()) for mask in masks) == 16
    one = layouts.draw_masks([torch.tensor([[True, False]])], columns=1).axes[0]
    assert [patch.get_facecolor() == to_rgba(FIRST) for patch in one.patches] == [True, False]
    lower = layouts.draw_masks([torch.tensor([[True, True], [False, False]])], columns=1).axes[0]
    (frame,) = (patch for patch in lower.patches if patch.get_edgecolor() == to_rgba(SECOND))
    assert frame.get_y() == min(patch.get_y() for patch in lower.patches)  # around the second query
