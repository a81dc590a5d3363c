"""Data-parallel training: the weights of one process with the same batches, and exact resuming."""

import json
import runpy
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from annotated_transformer.config import TINY
from annotated_transformer.text.batching import Batch, ClassBatch, make_batches
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.tokenizer import PAD_ID
from annotated_transformer.training import Recipe, RunDirectory, TrainingConfig, train, train_from_recipe
from annotated_transformer.training import distributed as module
from annotated_transformer.training.distributed import ProcessGroup, join_process_group
from tests.torchrun import torchrun

SCRIPT = """
import dataclasses, json, sys
from pathlib import Path
import torch
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.training import (
    RunDirectory, TrainingConfig, TrainingStopped, join_process_group, train
)

torch.set_num_threads(1)
config = TrainingConfig(
    steps=11, batch_tokens=37, warmup_steps=3, max_lr=1e-2, clip_norm=1.0, fast=False
)
shape = TransformerConfig(vocab_size=17, max_length=67, num_layers=1, d_model=12, d_ff=14, num_heads=3)
rng = torch.Generator().manual_seed(0)
words = [torch.randint(4, 17, (i % 7 + 1,), generator=rng).tolist() for i in range(23)]
pairs = [([*ids, 2], [1, *ids, 2]) for ids in words] + [([5] * 36 + [2], [1] + [5] * 35 + [2])]

def run(run_directory=None, steps=11, dropout=0.3, stop=lambda: False, kind=Transformer, pairs=pairs,
        **changes):
    torch.manual_seed(0)
    model = kind(dataclasses.replace(shape, dropout=dropout)).double()
    rng, settings = torch.Generator().manual_seed(0), dataclasses.replace(config, steps=steps, **changes)
    reports = train(model, pairs, settings, generator=rng, run_directory=run_directory, stop=stop)
    return torch.cat([p.detach().flatten() for p in model.parameters()]), reports

def alone(**changes):
    weights, reports = run(dropout=0.0, **changes)
    return weights, [(r.training_loss, r.gradient_norm) for r in reports]

def own(texts=[([], target) for _, target in pairs]):
    return alone(kind=DecoderOnly, pairs=texts)

if __name__ == "__main__":
    with join_process_group() as group:
        together, fast, by_own_loss = alone(fast=False), alone(fast=True), own()
        whole, _ = run()
        for steps in (4, 11):
            with RunDirectory(Path(sys.argv[1]) / "kept", seconds=0.0) as run_directory:
                resumed, _ = run(run_directory, steps)
        asked = iter([False] * 7 + [group.rank == 1])  # only rank 1 requests the stop
        try:
            with RunDirectory(Path(sys.argv[1]) / "stopped") as run_directory:
                run(run_directory, stop=lambda: next(asked))
        except TrainingStopped as error:
            assert error.step == 7
        else:
            raise AssertionError("the run was not stopped")
        with RunDirectory(Path(sys.argv[1]) / "stopped") as run_directory:
            found, _ = run(run_directory)
        assert torch.equal(found, whole), "stopped and resumed to other weights"
        assert torch.equal(resumed, whole), "resumed to other weights"
        others = group.all_gather(whole)
        assert torch.equal(*others), "the processes have different weights"
        if group.rank == 0:
            found = [[weights.tolist(), numbers] for weights, numbers in (together, fast, by_own_loss)]
            Path(sys.argv[1], "together").write_text(json.dumps(found))
"""


@pytest.mark.usefixtures("unchecked")
def test_law_two_processes_give_the_weights_of_one_and_resume_exactly(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = torchrun(2, str(script), str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    here = runpy.run_path(str(script))
    transformer, own = here["alone"](), here["own"]()  # in one process
    both = json.loads((tmp_path / "together").read_text())
    # with the plain path and with the fast one, and a TrainableModel
    for (weights, losses_and_norms), (expected_weights, expected) in zip(
        both, (transformer, transformer, own), strict=True
    ):
        assert len(expected) > 1
        assert weights == pytest.approx(expected_weights.tolist(), rel=1e-8, abs=1e-10)
        for found, wanted in zip(losses_and_norms, expected, strict=True):
            assert found == pytest.approx(wanted, rel=1e-9)
    assert both[0] != both[1]  # the two paths differ in the last bits


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
