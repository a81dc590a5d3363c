"""The drawings of the chapter on decoding show the given searches, shares, and counts."""

from matplotlib.patches import Rectangle

from annotated_transformer.book.chapters.decoding import figures as figures
from tests.drawings import bold, hatched, texts

END = "</s>"
TABLE = {"": {"A": 0.6, "B": 0.4}, "A": {"c": 0.5, "d": 0.5}}
FIRST = ({"A": 0.6, "B": 0.4}, ["A", "B"])
THIRD = ({f"A c {END}": 0.3}, [f"A c {END}"])
SECOND = ({"A c": 0.3, "A d": 0.3, f"B {END}": 0.4}, [f"B {END}", "A c"])


def test_law_kept_texts_are_bold_and_dropped_ones_are_crossed_out():
    fig = figures.draw_tree(TABLE, [FIRST, SECOND], end=END)
    assert bold(fig) == ["A", "0.6", "c", "0.3", "B", "0.4", "end", "0.4"]
    assert [text for text in texts(fig) if text.startswith("✕")] == ["✕ 0.3"]
    assert texts(fig).count("end") == 3  # each text ends once, computed or not
    assert [line.get_linestyle() for line in fig.axes[0].lines] == ["-", "-", ":", "--", ":", "-", "-"]


def test_law_the_best_finished_text_is_framed_once_there_is_one():
    (early,) = figures.draw_tree(TABLE, [FIRST], end=END).axes
    assert not early.patches
    (late,) = figures.draw_tree(TABLE, [FIRST, SECOND, THIRD], end=END).axes
    (frame,) = late.patches
    _, word = (text for text in late.texts if text.get_text() == "end" and text.get_weight() == "bold")
    assert isinstance(frame, Rectangle)
    assert frame.get_bbox().contains(*word.get_position())


def test_law_bars_are_stacked_to_the_shares():
    fig = figures.draw_outputs(
        {"one": [(1.0, 0.0), (0.25, 0.5)], "two": [(0.5, 0.5), (1.0, 0.0)]},
        beams=[1, 8],
        words=("right", "empty"),
    )
    bars = [(bar.get_y(), bar.get_height()) for bar in fig.axes[0].patches]
    assert bars == [(0, 100), (100, 0), (0, 25), (25, 50)]
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["1", "8"]
    assert [text.get_text() for text in fig.legends[0].get_texts()] == ["right", "empty"]
    keys, (first, second) = fig.legends[0].get_patches(), fig.axes[0].patches[2:]
    assert [(key.get_facecolor(), key.get_hatch()) for key in keys] == [
        (bar.get_facecolor(), bar.get_hatch()) for bar in (first, second)
    ]


def test_law_each_panel_has_its_distribution_above_the_outline_of_the_first():
    fig = figures.draw_processed({"as it is": {"y": 0.75, "x": 0.25}, "top-k": {"y": 1.0, "x": 0.0}})
    first, second = fig.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["y", "x"]
    assert [bar.get_width() for bar in first.patches] == [0.75, 0.75, 0.25, 0.25]
    assert [bar.get_width() for bar in second.patches] == [0.75, 1.0, 0.25]  # nothing for a removed word
    assert texts(fig) == ["0.75", "0.25", "1.00", "0.00"]


def test_law_the_cache_leaves_one_position_for_each_step():
    fig = figures.draw_cache(["a", "b", "c", "d"])
    assert hatched(fig) == 6  # read from the cache
    assert len(fig.axes[0].patches) == 10 + 10
    assert {"10 computed", "4 computed", "without a cache", "with a cache"} <= set(texts(fig))
