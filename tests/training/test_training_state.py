"""What a training state holds for each process, and weights that layers share."""

from pathlib import Path

import pytest
import torch
from torch.optim import Adam

from annotated_transformer.checkpointing.training_state_file import load_state, save_state
from annotated_transformer.training.distributed import ProcessGroup
from annotated_transformer.training.training_state import TrainingState


@pytest.mark.parametrize("rank", [0, 1])
def test_law_each_process_resumes_with_the_generator_of_its_own_device(make_model, monkeypatch, rank: int):
    """The devices are mocked: none is needed to see which state goes where. Device 0 is the current one."""
    own, states = (
        torch.device("cuda", 2 + rank),
        [torch.full((5,), 7 + rank, dtype=torch.uint8) for rank in (0, 1)],
    )
    of = {own: states[rank], None: torch.zeros(5, dtype=torch.uint8)}
    group = ProcessGroup()
    group.rank, group.world_size = rank, 2
    group.all_gather = lambda tensor: states if torch.equal(tensor, states[rank]) else [tensor, tensor]
    monkeypatch.setattr(TrainingState, "device", own)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device=None: of[device])
    restored = []
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda *arguments: restored.append(arguments))
    model = make_model()
    state = TrainingState(model, Adam(model.parameters()), torch.Generator(), group)
    saved = state.to_saved()
    assert [saved.tensors[f"random.cuda.{of}"][0] for of in (0, 1)] == [7, 8]
    state.restore(saved)
    ((random_state, device),) = restored
    assert (random_state.tolist(), device) == ([7 + rank] * 5, own)


def test_law_layers_that_share_weights_are_saved_and_restored(make_model, tmp_path: Path):
    """A file holds them twice."""
    model, other = make_model(num_layers=2), make_model(num_layers=2, seed=1)
    for each in (model, other):
        each.encoder.layers[1] = each.encoder.layers[0]
    state, again = (TrainingState(m, Adam(m.parameters()), torch.Generator()) for m in (model, other))
    save_state(tmp_path, state.to_saved(), {}, code="a")
    again.restore(load_state(tmp_path, {}, code="a"))
    assert all(map(torch.equal, other.parameters(), model.parameters()))
    assert other.encoder.layers[1] is other.encoder.layers[0]
