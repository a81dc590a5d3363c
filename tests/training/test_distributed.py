"""Data-parallel training: the weights of one process with the same batches, and exact resuming."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.config import TINY
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.text.batching import Batch, ClassBatch, Pair, make_batches
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.tokenizer import PAD_ID
from annotated_transformer.training import distributed as module
from annotated_transformer.training.config import LIMITS, Recipe, TrainingConfig
from annotated_transformer.training.distributed import ProcessGroup, join_process_group
from annotated_transformer.training.recipe import train_from_recipe
from annotated_transformer.training.trainer import TrainingStopped, train
from tests.fixtures import TRAINED
from tests.small_training import rng
from tests.torchrun import torchrun

CONFIG = TrainingConfig(batch_tokens=37, warmup_steps=3, max_lr=1e-2, clip_norm=1.0)


def some_pairs() -> list[Pair]:
    """Return short pairs and a long one, which is a batch of its own, with no row for a second process."""
    draws = rng()
    words = [torch.randint(4, 17, (i % 7 + 1,), generator=draws).tolist() for i in range(23)]
    return [([*ids, 2], [1, *ids, 2]) for ids in words] + [([5] * 36 + [2], [1] + [5] * 35 + [2])]


def trained(kind: Any = Transformer, *, dropout=0.0, steps=11, fast=False, **options: Any):
    """Return the weights after a run, and the loss and the gradient norm of each epoch."""
    pairs = some_pairs() if kind is Transformer else [([], target) for _, target in some_pairs()]
    config = dataclasses.replace(CONFIG, steps=steps, fast=fast)
    torch.manual_seed(0)
    model = kind(dataclasses.replace(TRAINED, dropout=dropout)).double()
    reports = train(model, pairs, config, generator=rng(), **options)
    numbers = [number for report in reports for number in (report.training_loss, report.gradient_norm)]
    return nn.utils.parameters_to_vector(model.parameters()).tolist(), numbers


def train_together(folder: Path) -> None:
    """Write what several processes compute, and assert that they resume exactly."""
    torch.set_num_threads(1)
    with join_process_group() as group:
        together = trained(), trained(fast=True), trained(DecoderOnly)
        whole = trained(dropout=0.3)
        for steps in (4, 11):
            with RunDirectory(folder / "kept", seconds=0.0) as directory:
                resumed = trained(run_directory=directory, dropout=0.3, steps=steps)
        asked = iter([False] * 7 + [group.rank == 1])  # only rank 1 requests the stop
        with RunDirectory(folder / "stopped") as directory, pytest.raises(TrainingStopped, match="step 7"):
            trained(run_directory=directory, dropout=0.3, stop=lambda: next(asked))
        with RunDirectory(folder / "stopped") as directory:
            continued = trained(run_directory=directory, dropout=0.3)
        assert continued[0] == whole[0], "stopped and resumed to other weights"
        assert resumed[0] == whole[0], "resumed to other weights"
        one, other = group.all_gather(torch.tensor(whole[0], dtype=torch.float64))
        assert torch.equal(one, other), "the processes have different weights"
        if group.rank == 0:
            (folder / "together").write_text(json.dumps(together))


@pytest.mark.usefixtures("unchecked", "one_thread")
def test_law_two_processes_give_the_weights_of_one_and_resume_exactly(tmp_path: Path):
    done = torchrun(2, "-m", __name__, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    plain, own = trained(), trained(DecoderOnly)  # in one process
    together = json.loads((tmp_path / "together").read_text())
    # with the plain path and with the fast one, and a TrainableModel
    for (weights, numbers), expected in zip(together, (plain, plain, own), strict=True):
        assert len(numbers) > 2
        assert weights == pytest.approx(expected[0], rel=1e-8, abs=1e-10)
        assert numbers == pytest.approx(expected[1], rel=1e-9)
    assert together[0] != together[1]  # the two paths differ in the last bits


def group_of(rank: int, world_size: int) -> ProcessGroup:
    group = ProcessGroup()
    group.rank, group.world_size = rank, world_size
    return group


def test_law_the_shards_of_a_batch_make_up_the_whole_batch(copy_pairs):
    (batch,) = make_batches(copy_pairs(7), batch_tokens=101)
    groups = [group_of(rank, 3) for rank in range(3)]
    shares, weights = zip(*(group.shard(batch) for group in groups), strict=True)
    assert sorted(row for share in shares for row in share.rows) == sorted(batch.rows)
    assert sum(weights) == pytest.approx(1)
    assert [len(share.rows) for share in shares] == [3, 2, 2]
    assert all((share.labels != PAD_ID).sum() == share.num_labels > 0 for share in shares)
    classes = ClassBatch(**vars(batch))  # each pair has one label
    assert [(type(share), weight) for share, weight in (group.shard(classes) for group in groups)] == [
        *((ClassBatch, pytest.approx(rows / 7)) for rows in (3, 2, 2))
    ]
    idle, weight = groups[2].shard(Batch(batch.rows[:2], batch.src[:2], batch.tgt[:2]))
    assert (weight, len(idle.rows)) == (0, 1)


def test_law_one_process_is_a_group_of_one(copy_pairs):
    (batch,) = make_batches(copy_pairs(7), batch_tokens=101)
    with join_process_group() as group:
        assert (group.rank, group.world_size) == (0, 1)
        assert group.shard(batch) == (batch, 1.0)
        assert group.data_parallel(module := torch.nn.Linear(2, 2)) is module
        assert group.sum(0.1) == group.broadcast(0.1) == 0.1


def test_law_a_group_that_the_program_has_initialized_is_not_ended(monkeypatch):
    monkeypatch.setattr(dist, "is_torchelastic_launched", lambda: True)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        with join_process_group() as group:
            assert group.world_size == 1
        assert dist.is_initialized()
    finally:
        dist.destroy_process_group()


@pytest.mark.message
def test_message_a_lost_connection(monkeypatch):
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setattr(dist, "is_torchelastic_launched", lambda: True)
    monkeypatch.setattr(dist, "init_process_group", lambda backend: None)
    monkeypatch.setattr(dist, "destroy_process_group", lambda: None)
    message = "^process 0 of 1 has lost the connection to another one, .*; see the messages of .*(Read|reset)"
    for lost in (RuntimeError("[gloo/transport/tcp/pair.cc:537] Read error"), dist.DistNetworkError("reset")):
        with pytest.raises(ConnectionError, match=message), join_process_group():
            raise lost
    with pytest.raises(RuntimeError, match="out of memory"), join_process_group():
        raise RuntimeError("out of memory")


@pytest.mark.message
def test_message_several_processes_that_have_not_joined(monkeypatch, tmp_path, make_model, copy_pairs):
    monkeypatch.setenv("WORLD_SIZE", "2")
    message = r"^WORLD_SIZE=2, so 2 processes .* not joined .*; train inside join_process_group\(\), a"
    config = TrainingConfig(steps=1, batch_tokens=37)
    corpus = load_corpus("toy")
    for begin in (
        lambda: train(make_model(), copy_pairs(3), config),
        lambda: train_from_recipe(Recipe(shape=TINY, training=config), corpus, tmp_path / "model", seed=0),
        RunDirectory(tmp_path / "run").__enter__,
    ):
        with pytest.raises(RuntimeError, match=message):
            begin()
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("RANK", "0")
    message = "^WORLD_SIZE=2 is set without MASTER_ADDR, MASTER_PORT; start the processes by torchrun, or"
    with pytest.raises(ValueError, match=message), join_process_group():
        pass


@pytest.mark.message
def test_message_processes_that_were_started_differently(monkeypatch):
    def all_gather(identities: list[dict[str, object]], own: dict[str, object]) -> None:
        identities[:] = [{"seed": 0, "d_model": 6}, {"seed": 0, "d_model": 6}, own]

    monkeypatch.setattr(dist, "all_gather_object", all_gather)
    group = group_of(2, 3)
    group.refuse_unequal({"seed": 0, "d_model": 6})
    message = (
        "^process 2 was not started like process 0: seed is 0 in process 0 and 1 in process 2; start all"
    )
    with pytest.raises(ValueError, match=message):
        group.refuse_unequal({"seed": 1, "d_model": 6})
    compared: list[dict[str, object]] = []
    monkeypatch.setattr(ProcessGroup, "refuse_unequal", lambda self, identity: compared.append(identity))
    trained(steps=3)
    assert {"pairs", "seed", "max_lr", "vocab_size", *LIMITS} <= compared[0].keys()


def test_law_each_process_draws_its_own_dropout_masks(monkeypatch):
    monkeypatch.setattr(module, "DistributedDataParallel", lambda net, **options: net)
    net, draws = torch.nn.Linear(2, 2), []
    for rank in range(4):
        torch.manual_seed(7)
        group_of(rank, 4).data_parallel(net)
        draws.append(tuple(torch.rand(5).tolist()))
    assert len(set(draws)) == 4
    torch.manual_seed(7)
    assert draws[0] == tuple(torch.rand(5).tolist())  # rank 0 draws like a single process


@pytest.mark.parametrize("first", [0.0, 7.5])
@pytest.mark.parametrize("second", [0.0, 11.5])
def test_law_rank_0_decides_for_all_processes(first: float, second: float):
    groups = [group_of(0, 2), group_of(1, 2)]
    for group in groups:
        group.sum = lambda number: number  # this process's summand
    assert [groups[0].broadcast(first), groups[1].broadcast(second)] == [first, 0.0]
    groups[1].sum = lambda number: number + first
    assert groups[1].broadcast(second) == first


if __name__ == "__main__":
    train_together(Path(sys.argv[1]))
