"""A CUDA device computes what a CPU does, and a run on it resumes exactly: `make cuda`."""

import copy
import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.fast.loss import PackedLoss, RecordedGradients
from annotated_transformer.fast.modules import fast_modules
from annotated_transformer.fast.recording import WARM_UP, Recorded
from annotated_transformer.fast.static_cache import StaticCaches, StaticKeyValueCache
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.text.batching import make_batches, pad
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import train_from_recipe
from annotated_transformer.training.trainer import read_losses, update
from annotated_transformer.training.training_state import TrainingState
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
LONG = (
    "A man in a blue shirt is standing on a ladder cleaning a window, and two children are watching him from "
    "the other side of the street."
)
SETTINGS = {
    "plain": {"fast": False},
    "fast": {"fast": True},
    "bf16": {"fast": False, "bf16": True},
    "fast, bf16": {"fast": True, "bf16": True},
}
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


@contextmanager
def refusing_to_wait() -> Iterator[None]:
    """Let PyTorch raise an error where the CPU would wait for the GPU."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("fast", [False, True])
def test_oracle_loss_and_gradients_are_those_of_the_cpu(make_model, copy_pairs, loss_of, fast: bool):
    config = TrainingConfig(steps=1, fast=fast)
    (batch,) = make_batches(copy_pairs(7), batch_tokens=101)
    model = make_model(dropout=0.0).double()
    there = copy.deepcopy(model).cuda()
    losses = [loss_of(one, batch, config) for one in (model, there)]
    sum(loss.cpu() for loss in losses).backward()
    found, expected = ([p.grad.cpu() for p in one.parameters()] for one in (there, model))
    torch.testing.assert_close(losses[1].cpu(), losses[0], rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("bf16", [False, True])
def test_oracle_a_replayed_recording_adds_the_gradients_of_the_loss(make_model, copy_pairs, bf16: bool):
    model, batches = (
        make_model(dropout=0.0, d_model=24, d_ff=32).cuda(),
        make_batches(copy_pairs(43), batch_tokens=101),
    )
    loss = PackedLoss(model, smoothing=0.1, bf16=bf16)
    recorded = RecordedGradients(loss, unit=16)
    for _ in range(3):  # called, recorded, and replayed
        for batch in batches:
            model.zero_grad()
            share = recorded(batch, 0.5).item()
            found = [parameter.grad.clone() for parameter in model.parameters()]
            model.zero_grad()
            expected = 0.5 * loss(batch)
            expected.backward()
            assert share == pytest.approx(expected.item(), rel=1e-2 if bf16 else 1e-5)
            gradients = [parameter.grad for parameter in model.parameters()]
            torch.testing.assert_close(found, gradients, rtol=0.02, atol=2e-3 if bf16 else 1e-5)
            del expected  # with its graph, which belongs to another stream than the next recording


def test_law_each_replay_draws_another_dropout_mask(make_model, copy_pairs):
    model, (batch,) = make_model().cuda(), make_batches(copy_pairs(7), batch_tokens=101)
    recorded = RecordedGradients(PackedLoss(model, smoothing=0.1, bf16=False), unit=16)
    torch.cuda.manual_seed(0)
    shares = [recorded(batch, 1.0).item() for _ in range(4)]
    torch.cuda.manual_seed(0)
    assert [recorded(batch, 1.0).item() for _ in range(4)] == shares  # of which the first was not recorded
    assert len(set(shares)) == 4


@pytest.mark.parametrize("bf16", [False, True])
def test_law_an_update_does_not_wait_for_the_gpu(make_model, copy_pairs, bf16: bool):
    model, batches = make_model(d_model=24, d_ff=32).cuda(), make_batches(copy_pairs(43), batch_tokens=101)
    config = TrainingConfig(batch_tokens=101, bf16=bf16, clip_norm=1.0)
    state = TrainingState(model, torch.optim.Adam(model.parameters(), fused=True), torch.Generator())
    with fast_modules(model):
        recorded = RecordedGradients(PackedLoss(model, smoothing=0.1, bf16=bf16), unit=16)
        for batch in batches * 2:  # called, and recorded
            update(state, recorded, [batch], config)
        with refusing_to_wait():
            for batch in batches:
                update(state, recorded, [batch], config)
    assert read_losses(state, config).startswith(f"step {3 * len(batches)}, loss")


@pytest.mark.parametrize("fast", [None, True])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_oracle_the_translations_are_those_of_the_cpu(beam_size: int, fast: bool | None):
    expected = Translator.from_pretrained("en-de").translate(SENTENCES, beam_size=beam_size)
    there = Translator.from_pretrained("en-de", device="cuda", fast=fast)
    assert there.translate(SENTENCES, beam_size=beam_size) == expected


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_oracle_recorded_steps_give_the_translations_of_the_cpu(beam_size: int, batch_size: int):
    """Batches of other sizes use other recordings, and equal ones the same again."""
    texts = [sentence for sentence in (*SENTENCES, LONG) for _ in range(5)]
    options = {"beam_size": beam_size, "batch_size": batch_size}
    expected = Translator.from_pretrained("en-de").translate(texts, **options)
    there = Translator.from_pretrained("en-de", device="cuda", fast=True)
    for _ in range(3):
        assert there.translate(texts, **options) == expected
    for name in ("step", "encoding"):
        found = [vars(own)[name] for own in there.recorded.shelf.free.values()]
        recorded = [one for one in found if one is not None and one.calls > WARM_UP]
        assert recorded
        assert all(one.graph is not None for one in recorded)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_oracle_recorded_steps_in_float64_find_exactly_what_the_cpu_finds(stirred, sources, beam_size: int):
    model, caches = stirred(max_length=71), StaticCaches()
    there = copy.deepcopy(model).cuda()
    for rows in (slice(None), slice(1), slice(None), slice(None)):
        src = pad(sources[rows])
        expected = beam_search(model, src, beam_size=beam_size)
        found = beam_search(there, src.cuda(), beam_size=beam_size, decoder=caches)
        assert torch.equal(found.ids.cpu(), expected.ids)
        torch.testing.assert_close(found.log_probs.cpu(), expected.log_probs, rtol=0, atol=1e-10)
        assert torch.equal(greedy_search(there, src.cuda(), decoder=caches).cpu(), greedy_search(model, src))


def test_law_what_changes_after_a_recording_counts_in_the_next_translation():
    there = Translator.from_pretrained("en-de", device="cuda", fast=True)
    plain = Translator(there.model, there.tokenizer, fast=False)
    before = there.nbest(SENTENCES, 1)
    for part in ("self_attention.to_key", "feed_forward.contract"):
        there.model.get_submodule(f"decoder.layers.0.{part}").weight.data.neg_()
        after, expected = ([one.log_prob for (one,) in each.nbest(SENTENCES, 1)] for each in (there, plain))
        assert after == pytest.approx(expected, abs=1e-3)
        assert after != pytest.approx([one.log_prob for (one,) in before], abs=1e-2)
    hook = there.model.decoder.layers[0].feed_forward.register_forward_hook(lambda module, x, out: -out)
    with pytest.raises(NotPlain, match=r"^decoder\.layers\.0\.feed_forward has hooks"):
        there.translate(SENTENCES)
    hook.remove()
    assert there.nbest(SENTENCES, 1) != before


def test_oracle_a_recorded_function_of_given_and_of_own_tensors():
    own = torch.zeros(3, device="cuda")

    def add(x: torch.Tensor) -> tuple[torch.Tensor]:
        return (own.add_(x) * 2,)

    one = torch.ones(3, device="cuda")
    recorded = Recorded(add, device=own.device)
    assert [recorded(one * x)[0].tolist() for x in (1.0, 5.0, 7.0)] == [[2.0] * 3, [12.0] * 3, [26.0] * 3]
    assert own.tolist() == [13.0] * 3
    assert recorded.graph is not None
    with refusing_to_wait():
        recorded(one)


def test_law_training_is_recorded_after_a_recording_in_inference_mode():
    """Older versions of PyTorch would refuse the second recording, if the first began in that mode."""
    x = torch.ones(3, device="cuda")
    with torch.inference_mode():
        first = Recorded(lambda x: (2 * x,), device=x.device)
        for _ in range(3):
            assert first(x)[0].tolist() == [2.0] * 3
    weight = torch.ones(3, device="cuda", requires_grad=True)
    second = Recorded(lambda x: torch.autograd.grad((weight * x).sum(), weight), device=x.device)
    for number in range(3):
        assert second(number * x)[0].tolist() == [float(number)] * 3


def test_law_a_search_waits_for_the_card_only_to_ask(stirred, sources, monkeypatch):
    model, src = stirred().cuda(), pad(sources).cuda()
    caches = StaticCaches()
    for _ in range(2):
        greedy_search(model, src, decoder=caches)
    step = StaticKeyValueCache.step

    def checked(self: StaticKeyValueCache, tokens: torch.Tensor) -> torch.Tensor:
        with refusing_to_wait():
            return step(self, tokens)

    monkeypatch.setattr(StaticKeyValueCache, "step", checked)
    greedy_search(model, src, decoder=caches)


@pytest.mark.parametrize("kind", SETTINGS)
def test_law_an_interrupted_run_resumes_to_the_same_weights(tmp_path: Path, kind: str):
    recipe = dataclasses.replace(RECIPE, training=dataclasses.replace(RECIPE.training, **SETTINGS[kind]))
    train_from_recipe(recipe, corpus(), tmp_path / "whole", seed=3, device="cuda")
    for steps in (7, 17):
        torch.rand(11, device="cuda")  # a new process starts with another state
        train_from_recipe(for_steps(steps, recipe), corpus(), tmp_path / "resumed", seed=3, device="cuda")
    torch.testing.assert_close(weights(tmp_path / "whole"), weights(tmp_path / "resumed"), rtol=0, atol=0)


@pytest.mark.parametrize(("first", "second"), [("cpu", "cuda"), ("cuda", "cpu")])
def test_law_a_run_continues_on_another_device(tmp_path: Path, first: str, second: str):
    for steps, device in ((7, first), (17, second)):
        assert (
            train_from_recipe(for_steps(steps), corpus(), tmp_path / "model", seed=3, device=device) == steps
        )


def test_law_more_processes_than_devices_end_at_once(tmp_path: Path):
    processes = torch.cuda.device_count() + 1
    done = torchrun(
        processes, "-m", "annotated_transformer", *"train --corpus toy --out".split(), str(tmp_path)
    )
    assert done.returncode != 0
    assert f"{processes} processes of this machine need a CUDA device each" in done.stderr
    assert "forcefully" not in done.stderr  # what torchrun does to one that waits for the others


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_law_commands_use_the_gpu_and_log_it(device: str, capsys: pytest.CaptureFixture[str]):
    options = {"cuda": [], "cpu": ["--device", "cpu"]}[device]
    name = f"cuda:0 ({torch.cuda.get_device_name(0)})" if device == "cuda" else "cpu"
    assert command_line.main(["translate", *options, "The weather is nice today."]) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (1, f"Translating on {name}.\n")
    assert command_line.main(["evaluate", "--corpus", "toy", *options]) == 0
    assert f"Translating on {name}.\n" in capsys.readouterr().err


def test_law_nccl_averages_the_gradients_of_all_devices(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(NCCL)
    done = torchrun(torch.cuda.device_count(), str(script))
    assert done.returncode == 0, done.stderr
    assert "NCCL works" in done.stdout


def test_law_torchrun_trains_on_every_device(tmp_path: Path):
    command = "-m annotated_transformer train --corpus toy --steps 20 --vocab-size 400 --out".split()
    done = torchrun(torch.cuda.device_count(), *command, str(tmp_path / "model"))
    assert done.returncode == 0, done.stderr
    assert "has the model of step 20" in done.stderr
    assert Translator.from_folder(tmp_path / "model").translate(["the dog sees the cat"])
