"""What rank 0 finds is what all processes get, an error included."""

import pytest
import torch.distributed as dist

from annotated_transformer.checkpointing.rank_0 import from_rank_0

ERROR = ZeroDivisionError("division by zero")


def quotient(numerator: int, denominator: int) -> int:
    return numerator // denominator


@pytest.fixture
def sent(monkeypatch) -> list[object]:
    """What rank 0 has sent, which the other ranks receive."""
    sent: list[object] = []

    def broadcast(own: list[object]) -> None:
        (sent if dist.get_rank() == 0 else own)[:] = own if dist.get_rank() == 0 else sent

    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist, "get_rank", lambda: 0)
    monkeypatch.setattr(dist, "broadcast_object_list", broadcast)
    return sent


def test_law_rank_0_sends_what_it_computes_or_its_error(sent: list[object]):
    assert from_rank_0(quotient, 7, denominator=2) == 3
    assert sent == [3]
    with pytest.raises(ZeroDivisionError, match="by zero"):
        from_rank_0(quotient, 7, denominator=0)
    assert isinstance(sent[0], ZeroDivisionError)


def test_law_another_rank_computes_nothing_and_gets_what_rank_0_sent(sent: list[object], monkeypatch):
    monkeypatch.setattr(dist, "get_rank", lambda: 1)
    sent[:] = [3]
    assert from_rank_0(pytest.fail, "computed") == 3
    sent[:] = [ERROR]
    with pytest.raises(ZeroDivisionError, match="by zero"):
        from_rank_0(pytest.fail, "computed")


def test_law_a_process_alone_computes(monkeypatch):
    monkeypatch.setattr(dist, "is_initialized", lambda: False)
    assert from_rank_0(quotient, 7, denominator=2) == 3
