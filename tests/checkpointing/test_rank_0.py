"""What rank 0 finds is what all processes get, an error included."""

import pytest
import torch.distributed as dist

from annotated_transformer.checkpointing.rank_0 import from_rank_0


def quotient(numerator: float, denominator: float) -> float:
    return numerator / denominator


@pytest.fixture(params=[(False, 0), (True, 0), (True, 1)], ids=["alone", "rank 0", "rank 1"])
def found(request: pytest.FixtureRequest, monkeypatch) -> list[float | Exception]:
    """What rank 0 sends, which other ranks receive."""
    sent: list[float | Exception] = []
    group, rank = request.param
    monkeypatch.setattr(dist, "is_initialized", lambda: group)
    monkeypatch.setattr(dist, "get_rank", lambda: rank)
    monkeypatch.setattr(dist, "broadcast_object_list", lambda own: own.__setitem__(0, sent[0]) if rank else 0)
    return sent


def test_law_all_processes_get_what_rank_0_computes_or_its_error(found: list[float | Exception]):
    found[:] = [3.5]
    assert from_rank_0(quotient, 7.0, denominator=2.0) == 3.5
    found[:] = [ZeroDivisionError("float division by zero")]
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        from_rank_0(quotient, 7.0, denominator=0.0)
