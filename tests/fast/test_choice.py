"""Where the caller leaves it to us, the twins are used on a CPU, for a model that they compute."""

import pytest
import torch

from annotated_transformer.fast.choice import choose_fast
from annotated_transformer.fast.compatibility import refuse_for_fast_cache
from annotated_transformer.fast.loss import refuse_other_logits
from tests.small_training import model


@pytest.mark.message  # a tensor on "meta", which stands for CUDA here, is refused by the shape checker
@pytest.mark.parametrize("refuse", [refuse_for_fast_cache, refuse_other_logits])
def test_law_the_twins_are_chosen_on_a_cpu_for_a_model_that_they_compute(refuse):
    hooked = model()
    hooked.register_forward_hook(lambda *_: None)
    cases = {"plain": (model(), True), "hooked": (hooked, False), "elsewhere": (model().to("meta"), False)}
    found = {name: choose_fast(None, one, refuse) for name, (one, _) in cases.items()}
    assert found == {name: wanted for name, (_, wanted) in cases.items()}
    for one, _ in cases.values():
        assert [choose_fast(fast, one, refuse) for fast in (True, False)] == [True, False]


def test_law_another_error_is_not_taken_for_a_refusal():
    def broken(one: torch.nn.Module) -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        choose_fast(None, model(), broken)
