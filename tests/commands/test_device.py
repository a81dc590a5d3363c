"""The device that a training run uses; CUDA is mocked."""

import pytest
import torch

from annotated_transformer.commands.options import take_device


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Mock three CUDA devices, and record which are set."""
    taken: list[int] = []
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    return taken


def test_law_the_cpu_is_the_default_without_cuda(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)  # as some drivers report
    assert take_device(None) == take_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", [None, "cuda"])
@pytest.mark.parametrize(("rank", "device"), [(None, 0), ("0", 0), ("2", 2)])
def test_law_each_process_uses_its_own_device(
    taken: list[int], monkeypatch: pytest.MonkeyPatch, name: str | None, rank: str | None, device: int
):
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    assert take_device(name) == torch.device("cuda", device)
    assert taken == [device]


def test_law_the_cpu_can_be_chosen(taken: list[int]):
    assert take_device("cpu") == torch.device("cpu")
    assert taken == []


@pytest.mark.message
def test_message_no_cuda(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"--device cuda, but PyTorch \d.* finds no CUDA device; give"):
        take_device("cuda")


@pytest.mark.message
@pytest.mark.usefixtures("taken")
def test_message_more_processes_than_devices(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LOCAL_RANK", "3")
    with pytest.raises(
        ValueError, match="process 3 of this machine has no CUDA device: there are 3, one per process; give"
    ):
        take_device(None)
