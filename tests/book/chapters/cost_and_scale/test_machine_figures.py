"""The drawings of what was measured show the given results."""

import pytest

from annotated_transformer.book.chapters.cost_and_scale import machine_figures

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


@pytest.mark.equation("eq-roofline")
def test_law_no_point_is_above_the_roof():
    assert machine_figures.roof_of(ROOF) == (90e9, 30e9)
    assert machine_figures.roof_of(ROOF | {"by_onednn": 100e9}) == (100e9, 30e9)
    fast = {
        "sum": {"flops": 1e9, "bytes": 40e9, "seconds": 1.0},
        "product": {"flops": 96e9, "bytes": 1, "seconds": 1.0},
    }
    assert machine_figures.roof_of(ROOF | {"points": fast}) == (96e9, 40e9)
