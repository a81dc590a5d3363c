"""A recorded function returns what the function returns, in the same tensors at each call."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from annotated_transformer.fast.recording import WARM_UP, Recorded

CPU = torch.device("cpu")


def test_law_a_recorded_function_returns_new_values_in_the_same_tensors():
    given = torch.tensor([1.0, 2.0]), torch.tensor(3.0)
    recorded = Recorded(lambda x, y: (x * y, x + y), given, device=CPU)
    first = recorded(*given)
    assert [x.tolist() for x in first] == [[3, 6], [4, 5]]
    second = recorded(torch.tensor([5.0, 7.0]), torch.tensor(2.0, requires_grad=True))
    assert [x.tolist() for x in second] == [[10, 14], [7, 9]]
    assert [x.data_ptr() for x in first] == [x.data_ptr() for x in second]
    assert [x.tolist() for x in given] == [[1, 2], 3]
    assert not any(x.requires_grad for x in second)


def test_law_it_reads_other_tensors_where_they_are_and_changes_them():
    weight, total = torch.tensor(2.0), torch.zeros(())

    def add(x: Tensor) -> tuple[()]:
        total.add_(weight * x)
        return ()

    recorded = Recorded(add, (torch.tensor(1.0),), device=CPU)
    assert total == 2 * WARM_UP  # the caller restores it
    total.zero_()
    for x in (1.0, 10.0):
        assert recorded(torch.tensor(x)) == ()
        weight.fill_(3.0)
    assert total == 2 + 30


def test_law_gradients_can_be_recorded():
    weight = torch.tensor([2.0, 3.0], requires_grad=True)

    def backward(x: Tensor) -> tuple[Tensor, ...]:
        loss = (weight * x).square().sum()
        return loss, *torch.autograd.grad(loss, weight)

    recorded = Recorded(backward, (torch.ones(2),), device=CPU)
    loss, gradient = recorded(torch.tensor([1.0, 2.0]))
    assert loss == 4 + 36
    assert gradient.tolist() == [4, 24]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("pool", [None, (3, 5)])
def test_law_on_cuda_it_warms_up_on_another_stream_and_then_records(monkeypatch: pytest.MonkeyPatch, pool):
    """Stand-ins for `torch.cuda` only write down what happens; `tests/test_cuda.py` needs a card."""
    events: list[object] = []

    class Stream:
        def __init__(self, name: str = "aside") -> None:
            self.name = name

        def wait_stream(self, other: "Stream") -> None:
            events.append(f"{self.name} waits for {other.name}")

    class Graph:
        def replay(self) -> None:
            events.append("replay")

    @contextmanager
    def within(what: object, **options: object) -> Iterator[None]:
        events.append(getattr(what, "name", what if isinstance(what, torch.device) else "recording"))
        asked.update(options)
        yield
        events.append("end")

    asked: dict[str, object] = {}
    stand_ins = {"Stream": Stream, "CUDAGraph": Graph, "current_stream": lambda: Stream("current")}
    for name, value in (stand_ins | dict.fromkeys(("device", "stream", "graph"), within)).items():
        monkeypatch.setattr(torch.cuda, name, value)
    x, device = torch.ones(2), torch.device("cuda", 1)
    recorded = Recorded(lambda x: (events.append("call"), (2 * x,))[1], (x,), device=device, pool=pool)
    warm_up = ["aside waits for current", "aside", *["call"] * WARM_UP, "end", "current waits for aside"]
    assert events == [device, *warm_up, "recording", "call", "end", "end"]
    assert asked.pop("stream").name == "aside"
    assert asked == {"pool": pool, "capture_error_mode": "thread_local"}
    (output,) = recorded(3 * x)
    assert events[-1] == "replay"
    assert (recorded.inputs[0].tolist(), output.tolist()) == ([3, 3], [2, 2])  # no device computed anything


@pytest.mark.message
@pytest.mark.parametrize("given", [(torch.ones(1),), (torch.ones(2), torch.ones(2))])
def test_message_inputs_of_other_shapes(given: tuple[Tensor, ...]):
    recorded = Recorded(lambda x: (x,), (torch.ones(2),), device=CPU)
    shapes = [tuple(x.shape) for x in given]
    sentence = (
        f"the inputs have the shapes {shapes}, and the function was recorded with [(2,)]; record it again"
    )
    with pytest.raises(ValueError, match=re.escape(sentence)):
        recorded(*given)
