"""A restored training state continues exactly as the saved one would have."""

import copy
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
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda *given: restored.append(given))
    model = make_model()
    state = TrainingState(model, Adam(model.parameters()), torch.Generator(), group)
    saved = state.to_saved()
    assert [saved.tensors[f"random.cuda.{of}"][0] for of in (0, 1)] == [7, 8]
    state.restore(saved)
    ((found, device),) = restored
    assert (found.tolist(), device) == ([7 + rank] * 5, own)


def test_law_the_state_restored_is_the_state_saved(make_model):
    def steps(state: TrainingState, count: int) -> None:
        for _ in range(count):
            state.optimizer.zero_grad()
            sum((p * torch.randn_like(p)).sum() for p in state.model.parameters()).backward()
            state.optimizer.step()

    torch.manual_seed(0)
    model = make_model()
    state = TrainingState(model, Adam(model.parameters(), lr=0.1), torch.Generator().manual_seed(3))
    steps(state, 2)
    torch.randperm(5, generator=state.generator)
    state.end_epoch()
    assert (state.progress.epoch, state.progress.batch) == (1, 0)
    assert state.to_saved().progress == state.progress
    saved = copy.deepcopy(state.to_saved())  # shares memory with the model until it is written
    steps(state, 2)
    expected = [p.clone() for p in model.parameters()], torch.randperm(7, generator=state.generator)
    other = make_model()
    again = TrainingState(other, Adam(other.parameters(), lr=0.1), torch.Generator())
    again.restore(saved)
    assert again.progress == saved.progress
    steps(again, 2)
    assert all(map(torch.equal, other.parameters(), expected[0]))
    assert torch.equal(torch.randperm(7, generator=again.generator), expected[1])


def test_law_layers_that_share_weights_are_saved_and_restored(make_model, tmp_path: Path):
    """A file holds them twice."""
    model, other = make_model(num_layers=2), make_model(num_layers=2, seed=1)
    for each in (model, other):
        each.encoder.layers[1] = each.encoder.layers[0]
    state, again = (TrainingState(m, Adam(m.parameters()), torch.Generator()) for m in (model, other))
    save_state(tmp_path, state.to_saved(), {})
    again.restore(load_state(tmp_path, {}))
    assert all(map(torch.equal, other.parameters(), model.parameters()))
    assert other.encoder.layers[1] is other.encoder.layers[0]
