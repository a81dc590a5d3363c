"""What rank 0 finds is what all processes get, an error included."""

import pytest
import torch.distributed as dist

from annotated_transformer.checkpointing.rank_0 import from_rank_0


def quotient(numerator: int, denominator: int) -> int:
    return numerator // denominator


@pytest.fixture
def sent(monkeypatch) -> list[object]:
    """What rank 0 has sent, which the other ranks receive."""
    sent: list[object] = []

    def broadcast(outcome: list[object]) -> None:
        source, target = (outcome, sent) if dist.get_rank() == 0 else (sent, outcome)
        target[:] = source

    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_rank", lambda: 0)
    monkeypatch.setattr(dist, "broadcast_object_list", broadcast)
    return sent


def test_law_all_ranks_get_what_rank_0_computes_or_its_error(sent: list[object], monkeypatch):
    for rank, compute in ((0, quotient), (1, pytest.fail)):  # the others compute nothing
        monkeypatch.setattr(dist, "get_rank", lambda rank=rank: rank)
        sent[:] = [] if rank == 0 else [3]
        assert from_rank_0(compute, 7, 2) == 3
        assert sent == [3]
        sent[:] = [] if rank == 0 else [ZeroDivisionError("division by zero")]
        with pytest.raises(ZeroDivisionError, match="by zero"):
            from_rank_0(compute, 7, 0)
        assert isinstance(sent[0], ZeroDivisionError)


def test_law_a_process_alone_computes():
    assert from_rank_0(quotient, 7, denominator=2) == 3
