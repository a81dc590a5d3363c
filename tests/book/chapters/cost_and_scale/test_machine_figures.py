"""The drawings of what was measured show the given results."""

import pytest

from annotated_transformer.book.chapters.cost_and_scale import machine_figures
from annotated_transformer.book.chapters.cost_and_scale.power_law import PowerLaw
from annotated_transformer.plotting.palette import FIRST, SECOND
from tests.drawings import curves, hatched, marks, texts

ROOF = {
    "flops_per_second": 90e9,
    "by_onednn": 80e9,
    "bytes_per_second": 30e9,
    "points": {
        "linear, 1": {"flops": 2e6, "bytes": 4e6, "seconds": 1e-3},
        "linear, 64": {"flops": 100e6, "bytes": 4e6, "seconds": 2e-3},
        "softmax": {"flops": 5e6, "bytes": 8e6, "seconds": 1e-3},
    },
}


def test_law_the_roof_bends_where_both_limits_are_equal():
    fig = machine_figures.draw_roofline(ROOF)
    roof, *points = fig.axes[0].lines
    assert roof.get_xdata()[1] == pytest.approx(3)
    assert list(roof.get_ydata())[1:] == [90, 90]
    assert roof.get_ydata()[0] == pytest.approx(30 * roof.get_xdata()[0])
    assert [(*p.get_xdata(), *p.get_ydata()) for p in points] == [(0.5, 2), (25, 50), (0.625, 5)]
    assert [(p.get_color(), p.get_marker()) for p in points] == [(SECOND, "s"), (SECOND, "s"), (FIRST, "o")]
    assert texts(fig) == ["limit: arithmetic", "limit: memory", "linear, 1 row", "64", "softmax"]


@pytest.mark.equation("eq-roofline")
def test_law_no_point_is_above_the_roof():
    assert machine_figures.roof_of(ROOF) == (90e9, 30e9)
    assert machine_figures.roof_of(ROOF | {"by_onednn": 100e9}) == (100e9, 30e9)
    fast = {
        "sum": {"flops": 1e9, "bytes": 40e9, "seconds": 1.0},
        "product": {"flops": 96e9, "bytes": 1, "seconds": 1.0},
    }
    assert machine_figures.roof_of(ROOF | {"points": fast}) == (96e9, 40e9)


def test_law_each_update_has_a_bar_for_each_kind():
    fig = machine_figures.draw_shares(
        {"A": {"sums": 0.25, "products": 0.75}, "B": {"sums": 0.1, "products": 0.9}}
    )
    assert [bar.get_width() for bar in fig.axes[0].patches] == [25, 10, 75, 90]
    assert texts(fig) == ["25%  A", "10%  B", "75%", "90%"]
    assert hatched(fig) == 2


def test_law_a_format_has_a_box_for_each_bit():
    fig = machine_figures.draw_formats({"half": (5, 10), "brain": (8, 7)})
    assert len(fig.axes[0].patches) == 32
    assert hatched(fig) == 17
    assert texts(fig) == ["half", "5: range", "10: precision", "brain", "8: range", "7: precision"]


def test_law_sums_are_lines():
    fig = machine_figures.draw_sums([1, 2, 3], {"exact": [1, 2, 3], "coarse": [1, 2, 2]})
    assert curves(fig.axes[0]) == [[1, 2, 3], [1, 2, 2]]
    assert texts(fig) == ["exact", "coarse"]


def test_law_caches_are_lines_beside_the_weights():
    fig = machine_figures.draw_caches([1, 3], {"two heads": [2e9, 6e9], "one": [1e9, 3e9]}, weights=4e9)
    assert curves(fig.axes[0]) == [[2, 6], [1, 3], [4, 4]]
    assert texts(fig) == ["the weights, once", "two heads", "one"]


def test_law_errors_are_in_percent():
    fig = machine_figures.draw_errors({"int8": {"e1": 0.01, "d1": 0.02}, "int4": {"e1": 0.1, "d1": 0.3}})
    assert curves(fig.axes[0]) == [[1, 2], [10, 30]]
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["e1", "d1"]


@pytest.mark.parametrize("panels", [1, 2])
def test_law_the_law_is_solid_where_it_was_fitted(panels: int):
    losses = {10: [2.0, 2.2], 100: [1.0], 1000: [0.9, 0.8]}
    fig = machine_figures.draw_laws(
        {f"{place}": (losses, PowerLaw(20.0, 1.0)) for place in range(panels)}, fitted=2
    )
    assert len(fig.axes) == panels
    assert [ax.get_title(loc="left") for ax in fig.axes] == [f"{place}" for place in range(panels)]
    for ax in fig.axes:
        assert [len(row) for row in marks(ax)] == [2, 1, 2]
        colors = [line.get_color() == FIRST for line in ax.lines]
        assert colors == [True, True, False, True, False]
        *_, inside, beyond = ax.lines
        assert (list(inside.get_xdata()), inside.get_linestyle()) == ([10, 100], "-")
        assert (list(beyond.get_ydata()), beyond.get_linestyle()) == ([0.2, 0.02], "--")
