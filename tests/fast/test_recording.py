"""A recorded function returns what the function returns, and is recorded once it was called before."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from annotated_transformer.fast import recording
from annotated_transformer.fast.recording import WARM_UP, Recorded

CPU = torch.device("cpu")


def test_law_a_recorded_function_returns_new_values_in_the_same_tensors():
    given = torch.tensor([1.0, 2.0]), torch.tensor(3.0)
    recorded = Recorded(lambda x, y: (x * y, x + y), device=CPU)
    first = recorded(*given)
    assert [x.tolist() for x in first] == [[3, 6], [4, 5]]
    second = recorded(torch.tensor([5.0, 7.0]), torch.tensor(2.0, requires_grad=True))
    assert [x.tolist() for x in second] == [[10, 14], [7, 9]]
    assert [x.data_ptr() for x in first] == [x.data_ptr() for x in second]
    assert [x.tolist() for x in given] == [[1, 2], 3]
    assert not any(x.requires_grad for x in second)


def test_law_it_reads_other_tensors_where_they_are_and_changes_them_once_per_call():
    weight, total = torch.tensor(2.0), torch.zeros(())

    def add(x: Tensor) -> tuple[()]:
        total.add_(weight * x)
        return ()

    recorded = Recorded(add, device=CPU)
    for x in (1.0, 10.0, 100.0):
        assert recorded(torch.tensor(x)) == ()
        weight.fill_(3.0)
    assert total == 2 + 30 + 300


def test_law_gradients_can_be_recorded():
    weight = torch.tensor([2.0, 3.0], requires_grad=True)

    def backward(x: Tensor) -> tuple[Tensor, ...]:
        loss = (weight * x).square().sum()
        return loss, *torch.autograd.grad(loss, weight)

    loss, gradient = Recorded(backward, device=CPU)(torch.tensor([1.0, 2.0]))
    assert loss == 4 + 36
    assert gradient.tolist() == [4, 24]


class Card:
    """Stand-ins for `torch.cuda` that only write down what happens; `tests/test_cuda.py` needs a card."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[object] = []
        self.asked: list[dict[str, object]] = []
        events = self.events

        class Stream:
            def __init__(self, device: torch.device | None = None) -> None:
                self.name = f"aside on {device}" if device else "current"
                events.extend([f"new stream on {device}"] if device else [])

            def wait_stream(self, other: "Stream") -> None:
                events.append(f"{self.name} waits for {other.name}")

        class Graph:
            def replay(self) -> None:
                events.append("replay")

        stand_ins = {"Stream": Stream, "CUDAGraph": Graph, "current_stream": Stream}
        within = dict.fromkeys(("device", "stream", "graph"), self.within)
        for name, value in (stand_ins | within).items():
            monkeypatch.setattr(torch.cuda, name, value)
        # no device allocates or computes anything
        monkeypatch.setattr(torch, "empty_like", lambda x, device: torch.zeros(x.shape))

    @contextmanager
    def within(self, what: object, **options: object) -> Iterator[None]:
        self.events.append(getattr(what, "name", what if isinstance(what, torch.device) else "recording"))
        if options:
            modes = {"inference": torch.is_inference_mode_enabled(), "locked": recording._ASIDE.locked()}
            self.asked.append(options | modes)
        yield
        self.events.append("end")


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[Card]:
    """Return a card whose streams are forgotten afterwards."""
    recording._stream_aside.cache_clear()
    yield Card(monkeypatch)
    recording._stream_aside.cache_clear()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("pool", [None, (3, 5)])
@pytest.mark.parametrize("inference", [True, False])
def test_law_on_cuda_it_is_called_on_another_stream_then_recorded_and_then_replayed(
    card: Card, pool: object, inference: bool
):
    x, device, modes = torch.ones(2), torch.device("cuda", 1), []

    def double(x: Tensor) -> tuple[Tensor]:
        card.events.append("call")
        modes.append((torch.is_inference_mode_enabled(), torch.is_grad_enabled()))
        return (2 * x,)

    recorded = Recorded(double, device=device, pool=pool)
    assert not card.events
    wait, back = "aside on cuda:1 waits for current", "current waits for aside on cuda:1"
    with torch.inference_mode(inference), torch.set_grad_enabled(False):
        for number in range(WARM_UP):
            (output,) = recorded((3 + number) * x)
            new = ["new stream on cuda:1"] * (number == 0)
            assert card.events == [device, *new, wait, "aside on cuda:1", "call", "end", back, "end"]
            assert output.tolist() == [6 + 2 * number] * 2
            card.events.clear()
        assert not card.asked
        recorded(x)
        assert card.events == [device, wait, "recording", "call", "end", back, "end", "replay"]
        assert modes == [(inference, False)] * (WARM_UP + 1)
        (asked,) = card.asked
        assert asked.pop("stream").name == "aside on cuda:1"
        assert asked == {
            "pool": pool,
            "capture_error_mode": "thread_local",
            "inference": False,
            "locked": True,
        }
        card.events.clear()
        (output,) = recorded(7 * x)
        assert card.events == ["replay"]
        assert (recorded.inputs[0].tolist(), output.tolist()) == ([7, 7], [2, 2])


@pytest.mark.usefixtures("unchecked")
def test_law_all_recordings_of_a_device_share_a_stream_and_keep_no_function(card: Card):
    for index in (0, 1, 0, 1):
        recorded = Recorded(lambda x: (x,), device=torch.device("cuda", index))
        for _ in range(WARM_UP + 1):
            recorded(torch.ones(2))
        assert "function" not in vars(recorded)
    assert [event for event in card.events if "new" in str(event)] == [
        "new stream on cuda:0",
        "new stream on cuda:1",
    ]


@pytest.mark.message
@pytest.mark.parametrize("given", [(torch.ones(1),), (torch.ones(2), torch.ones(2))])
def test_message_inputs_of_other_shapes(given: tuple[Tensor, ...]):
    recorded = Recorded(lambda x: (x,), device=CPU)
    recorded(torch.ones(2))
    shapes = [tuple(x.shape) for x in given]
    sentence = (
        f"the inputs have the shapes {shapes}, and the function was recorded with [(2,)]; record it again"
    )
    with pytest.raises(ValueError, match=re.escape(sentence)):
        recorded(*given)
