"""A CUDA device computes what a CPU does, and a run on it resumes exactly: `make cuda`."""

import copy
import dataclasses
from pathlib import Path

import pytest
import torch

from annotated_transformer import TrainingConfig, Translator
from annotated_transformer import __main__ as command_line
from annotated_transformer.decoding import beam_search
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.text import make_batches, pad
from annotated_transformer.training import train_from_recipe
from annotated_transformer.training.distributed import ProcessGroup
from annotated_transformer.training.trainer import training_loss
from tests.torchrun import torchrun
from tests.toy_recipe import RECIPE, corpus, for_steps, weights

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.usefixtures("unchecked"),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine"),
]
SENTENCES = [
    "Where is the station?",
    "My brother has bought two red books.",
    "I don't know.",
    "Good morning!",
]
FAST = TrainingConfig(fast=True)
PLAIN = dataclasses.replace(RECIPE, training=dataclasses.replace(RECIPE.training, fast=False))
NCCL = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from annotated_transformer.training.distributed import join_process_group

with join_process_group() as group:
    torch.cuda.set_device(group.rank)
    ones = torch.full((3,), group.rank + 1.0, device="cuda")
    dist.all_reduce(ones)
    assert ones.tolist() == [sum(range(1, group.world_size + 1))] * 3
    assert group.sum(group.rank + 1.0) == sum(range(1, group.world_size + 1))  # on the CPU, over gloo
    ranks = group.all_gather(torch.tensor([group.rank]))
    assert torch.cat(ranks).tolist() == list(range(group.world_size))
    torch.manual_seed(0)
    alone = torch.nn.Linear(5, 3).cuda()
    shared = DistributedDataParallel(torch.nn.Linear(5, 3).cuda(), broadcast_buffers=False)
    shared.module.load_state_dict(alone.state_dict())
    x = torch.randn(group.world_size, 7, 5, device="cuda")
    alone(x).square().mean().backward()
    shared(x[group.rank]).square().mean().backward()
    torch.testing.assert_close(shared.module.weight.grad, alone.weight.grad)
    print("NCCL works")
"""


def test_oracle_loss_and_gradients_are_those_of_the_cpu(make_model, copy_pairs, loss_of):
    (batch,) = make_batches(copy_pairs(7), batch_tokens=101)
    model = make_model(dropout=0.0).double()
    there = copy.deepcopy(model).cuda()
    losses = [loss_of(one, batch, TrainingConfig()) for one in (model, there)]
    sum(loss.cpu() for loss in losses).backward()
    gradients, expected = ([p.grad.cpu() for p in one.parameters()] for one in (there, model))
    torch.testing.assert_close(losses[1].cpu(), losses[0], rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(gradients, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("batch_size", [1, 64])
def test_oracle_the_translations_are_those_of_the_cpu(beam_size: int, batch_size: int):
    options = {"beam_size": beam_size, "batch_size": batch_size}
    here, there = (Translator.from_pretrained("en-de", device=device) for device in ("cpu", "cuda"))
    assert there.translate(SENTENCES, **options) == here.translate(SENTENCES, **options)


def test_oracle_searches_in_float64_find_exactly_what_the_cpu_finds(stirred, sources):
    model, src = stirred(max_length=71), pad(sources)
    expected = beam_search(model, src, beam_size=3)
    hypotheses = beam_search(copy.deepcopy(model).cuda(), src.cuda(), beam_size=3)
    assert torch.equal(hypotheses.ids.cpu(), expected.ids)
    torch.testing.assert_close(hypotheses.log_probs.cpu(), expected.log_probs, rtol=0, atol=1e-10)


@pytest.mark.message
def test_message_the_accelerated_path_is_for_cpus(make_model):
    expected = "^fast=True is made for CPUs, and the model is on cuda:0; leave it out$"
    with pytest.raises(NotPlain, match=expected), training_loss(make_model().cuda(), FAST, ProcessGroup()):
        pass
    with pytest.raises(NotPlain, match=expected):
        Translator.from_pretrained("en-de", device="cuda", fast=True).translate(SENTENCES)


@pytest.mark.parametrize("bf16", [False, True])
def test_law_an_interrupted_run_resumes_to_the_same_weights(tmp_path: Path, bf16: bool):
    recipe = dataclasses.replace(PLAIN, training=dataclasses.replace(PLAIN.training, bf16=bf16))
    train_from_recipe(recipe, corpus(), tmp_path / "whole", seed=3, device="cuda")
    for steps in (7, 17):
        torch.rand(11, device="cuda")  # a new process starts with another state
        train_from_recipe(for_steps(steps, recipe), corpus(), tmp_path / "resumed", seed=3, device="cuda")
    torch.testing.assert_close(weights(tmp_path / "whole"), weights(tmp_path / "resumed"), rtol=0, atol=0)


@pytest.mark.parametrize(("first", "second"), [("cpu", "cuda"), ("cuda", "cpu")])
def test_law_a_run_continues_on_another_device(tmp_path: Path, first: str, second: str):
    for steps, device in ((7, first), (17, second)):
        recipe = for_steps(steps, PLAIN)
        assert train_from_recipe(recipe, corpus(), tmp_path / "model", seed=3, device=device) == steps


def test_law_more_processes_than_devices_end_at_once(tmp_path: Path):
    processes = torch.cuda.device_count() + 1
    process = torchrun(
        processes, "-m", "annotated_transformer", *"train --corpus toy --out".split(), str(tmp_path)
    )
    assert process.returncode != 0
    assert f"CUDA devices for {processes} processes of this machine" in process.stderr
    assert "forcefully" not in process.stderr  # what torchrun does to one that waits for the others


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_law_commands_use_the_gpu_and_log_it(device: str, capsys: pytest.CaptureFixture[str]):
    options = ["--device", "cpu"] if device == "cpu" else []
    name = f"cuda:0 ({torch.cuda.get_device_name(0)})" if device == "cuda" else "cpu"
    assert command_line.main(["translate", *options, "The weather is nice today."]) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (1, f"Translating on {name}.\n")
    assert command_line.main(["evaluate", "--corpus", "toy", *options]) == 0
    assert f"Translating on {name}.\n" in capsys.readouterr().err


def test_law_nccl_averages_the_gradients_of_all_devices(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(NCCL)
    process = torchrun(torch.cuda.device_count(), str(script))
    assert process.returncode == 0, process.stderr
    assert "NCCL works" in process.stdout


def test_law_torchrun_trains_on_every_device(tmp_path: Path):
    command = "-m annotated_transformer train --corpus toy --steps 20 --vocab-size 400 --out".split()
    process = torchrun(torch.cuda.device_count(), *command, str(tmp_path / "model"))
    assert process.returncode == 0, process.stderr
    assert "has the model of step 20" in process.stderr
    assert Translator.from_folder(tmp_path / "model").translate(["the dog sees the cat"])
