"""The work that the roofline times takes the FLOPs and bytes that it says, and the committed result fits."""

import pytest
import torch

from annotated_transformer.book.chapters.cost_and_scale.counting import count_flops
from benchmarks import roofline
from benchmarks.record import RESULTS
from tests.benchmarks.test_results import result

MEASURED = sorted(path.stem for path in RESULTS.glob("roofline_*.json"))


@pytest.mark.parametrize("rows", [1, 3])
def test_oracle_pytorch_counts_the_flops_of_a_linear_layer(rows: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(roofline, "MATRICES", 2)
    work = roofline.linear(rows)
    assert count_flops(work.run) == work.flops
    d = roofline.D
    assert work.bytes == 4 * (rows * d + 4 * d * d + rows * 4 * d)


def test_oracle_pytorch_counts_the_flops_of_scores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(roofline, "TOKENS", 66)
    work = roofline.scores(11)
    assert count_flops(work.run) == work.flops
    assert work.bytes == 4 * 6 * 8 * (2 * 11 * roofline.HEAD + 11 * 11)


def test_law_a_vector_is_read_and_written_as_often_as_it_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(roofline, "TOKENS", 5)
    seen: list[torch.Tensor] = []
    work = roofline.vectors(seen.append, 7, flops=3, passes=2)
    work.run()
    assert seen[0].shape == (5, 7)
    assert (work.flops, work.bytes) == (3 * 35, 4 * 2 * 35)


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("aten::addmm", "matrix products"),
        ("aten::bmm", "matrix products"),
        ("aten::_log_softmax_backward_data", "softmax"),
        ("aten::_fused_adam_", "optimizer"),
        ("aten::copy_", roofline.OTHER),
    ],
)
def test_law_operators_have_a_kind(operator: str, kind: str):
    assert roofline.kind_of(operator) == kind


def test_law_long_vectors_move_the_bytes_that_they_say(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(roofline, "LONG", 7)
    moved = {name: work.bytes for name, work in roofline.long_vectors().items()}
    assert moved == {"sum of two": 84, "sum in place": 84, "copy": 56, "sum of all": 28}
    for work in roofline.long_vectors().values():
        out = work.run()
        assert out.shape in ((7,), ())


def test_oracle_pytorch_counts_the_flops_of_the_large_product():
    work = roofline.products()["product"]
    assert count_flops(work.run) == work.flops


def test_law_the_fastest_operation_on_long_vectors_is_the_limit(monkeypatch: pytest.MonkeyPatch):
    written = {}
    work = {
        name: roofline.Work(lambda: None, 6, 12) for name in ("product", "oneDNN", "slow", "fast", "slower")
    }
    monkeypatch.setattr("sys.argv", ["roofline"])
    monkeypatch.setattr(roofline, "keep_freed_memory", lambda: None)
    monkeypatch.setattr(roofline, "products", lambda: {name: work[name] for name in ("product", "oneDNN")})
    monkeypatch.setattr(
        roofline, "long_vectors", lambda: {name: work[name] for name in ("slow", "fast", "slower")}
    )
    monkeypatch.setattr(roofline, "operations", dict)
    times = {"product": 2.0, "oneDNN": 1.0, "slow": 3.0, "fast": 1.5, "slower": 4.0}
    monkeypatch.setattr(roofline, "best_times", lambda work: times)
    monkeypatch.setattr(roofline, "update_shares", lambda shape, tokens, updates: {})
    monkeypatch.setattr(roofline, "write_result", lambda path, seed, results: written.update(results))
    roofline.main()
    limits = (written["flops_per_second"], written["by_onednn"], written["bytes_per_second"])
    assert limits == (3.0, 6.0, 8.0)


@pytest.mark.parametrize("name", MEASURED or ["roofline_none"])
def test_law_one_row_is_slow_and_shares_sum_to_one(name: str):
    found = result(name)
    fewest, most = found["points"]["linear, 1"], found["points"]["linear, 1024"]
    assert fewest["flops"] / fewest["seconds"] < 0.2 * most["flops"] / most["seconds"]
    for update in found["updates"].values():
        assert sum(update["shares"].values()) == pytest.approx(1)
