"""What would wait for a card is found on the CPU."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tests.synchronization import no_synchronization

WAITING: dict[str, Callable[[Tensor], object]] = {
    "a number": lambda x: x[0, 0].item(),
    "an int": lambda x: int(x[1, 1]),
    "a condition": lambda x: 1 if (x > 0).all() else 0,
    "nonzero": lambda x: (x > 0).nonzero(),
    "where": lambda x: torch.where(x > 0),
    "a boolean index": lambda x: x[x > 0],
    "a boolean index that is set": lambda x: x.index_put_((x > 0,), x[0, :1].expand(15)),
    "masked_select": lambda x: x.masked_select(x > 0),
    "equal": lambda x: torch.equal(x, x),
    "allclose": lambda x: torch.allclose(x, x),
    "repeats": lambda x: x.repeat_interleave(x[:, 0].long(), dim=0),
    "multinomial": lambda x: x.multinomial(1),
    "a list": lambda x: x.tolist(),
    "an array": lambda x: x.numpy(),
    "a copy": lambda x: x.cpu(),
    "indices in a list": lambda x: x[:, [0, 1]],
    "a tensor of a list": lambda x: x + torch.tensor([1.0] * 5),
}
QUEUED: dict[str, Callable[[Tensor], object]] = {
    "an index": lambda x: x[x[:, 0].long(), 1],
    "a column that is set": lambda x: x[:, 0].fill_(2.0),
    "a mask": lambda x: x.masked_fill_(x > 3, 0.0),
    "a masked number": lambda x: x.__setitem__(x > 3, 0.0),
    "top-k": lambda x: x.topk(2).indices,
    "a slice": lambda x: x[1:, None],
}


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("act", WAITING.values(), ids=WAITING)
def test_law_what_waits_for_the_card_is_found(act: Callable[[Tensor], object], inference: bool):
    x = torch.ones(3, 5)
    act(x)
    with (
        torch.inference_mode(inference),
        no_synchronization(),
        pytest.raises(AssertionError, match="would wait for"),
    ):
        act(x)


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("act", QUEUED.values(), ids=QUEUED)
def test_law_what_only_queues_work_is_not_found(act: Callable[[Tensor], object], inference: bool):
    with torch.inference_mode(inference), no_synchronization():
        act(torch.ones(3, 5))
