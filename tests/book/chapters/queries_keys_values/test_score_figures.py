"""The drawings of scores show the given numbers."""

import pytest
from matplotlib.patches import Rectangle

from annotated_transformer.book.chapters.queries_keys_values import score_figures
from tests.drawings import texts


def test_law_bars_are_closeness_and_the_weights_that_sum_to_1():
    fig = score_figures.draw_soft_answer(5, {4: 0.5, 6: 1.0}, [7, 8], 7.67)
    bars = [patch.get_width() / 1.7 for patch in fig.axes[0].patches if type(patch) is Rectangle]
    assert bars == pytest.approx([0.5, 1 / 3, 1.0, 2 / 3])
    found = {"5", "4", "6", "0.5", "1", "0.33", "0.67", "× 7", "× 8", "7.67"}
    assert found <= set(texts(fig))


def test_law_a_bar_is_divided_into_the_weights():
    shares = {"one": [0.2, 0.7, 0.1], "two": [0.3, 0.3, 0.4]}
    fig = score_figures.draw_rivals([2, 1], [[2, 1], [4, 2], [1, 2]], shares)
    plane, ax = fig.axes
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.2, 0.7, 0.1, 0.3, 0.3, 0.4])
    assert [bar.get_x() for bar in ax.patches] == pytest.approx([0, 0.2, 0.9, 0, 0.3, 0.6])
    tips = [(text.get_text(), tuple(text.xy)) for text in plane.texts if text.get_text()]
    assert tips == [("key 1 = query", (2, 1)), ("key 2", (4, 2)), ("key 3", (1, 2))]
    assert [text for text in texts(fig) if text.isdigit()] == ["1", "2", "1", "2", "3"]
