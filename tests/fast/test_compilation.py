"""Compiled models: the results of plain ones, the same parameter names, working hooks, and real copies."""

import copy
import dataclasses
import inspect
import pickle
import shutil
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, fx, nn
from torch.optim.swa_utils import AveragedModel

from annotated_transformer.book.chapters.add_and_norm.residual_stream import split_stream
from annotated_transformer.book.chapters.feed_forward.hidden_units import (
    changed,
    feed_forward_networks,
    hidden_units,
)
from annotated_transformer.book.chapters.transformer.shapes import record_outputs
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.kv_cache import KeyValueCache, NoCache
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.fast import compilation
from annotated_transformer.fast.compilation import compile_stacks
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.fast.modules import ByteDropout
from annotated_transformer.inspection.heads import ablate_head, attention_maps
from annotated_transformer.inspection.health import Health
from annotated_transformer.inspection.observation import observe
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Pair, make_batches
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.metrics import EpochMetrics
from annotated_transformer.training.trainer import train
from tests.checkpointing.small_models import make_tokenizer, same

MakeModel = Callable[..., Transformer]
MakePairs = Callable[..., list[Pair]]
pytestmark = [
    pytest.mark.filterwarnings("ignore:The .grad attribute"),  # accessed by PyTorch's own tracing
    pytest.mark.message,  # not messages: without the shape checker, whose code cannot be captured
]
BRIEF = TrainingConfig(steps=11, batch_tokens=53, warmup_steps=3, max_lr=1e-2, fast=False)


@pytest.mark.parametrize("fast", [False, True])
def test_oracle_a_compiled_training_run_has_the_results_of_a_plain_one(
    make_model: MakeModel, copy_pairs: MakePairs, captured: list[fx.GraphModule], fast: bool
):
    def run(model: Transformer) -> tuple[list[EpochMetrics], dict[str, Tensor]]:
        pairs, rng = copy_pairs(43), torch.Generator().manual_seed(0)
        config = dataclasses.replace(BRIEF, fast=fast)
        return train(model, pairs, config, generator=rng, validation=pairs[:7]), model.state_dict()

    plain, compiled = (make_model(dropout=0.0).double() for _ in range(2))
    compile_stacks(compiled)
    (expected_reports, expected), (reports, found) = run(plain), run(compiled)
    assert list(found) == list(expected)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
    assert len(expected_reports) > 1  # so that one model was observed more than once
    for report, wanted in zip(reports, expected_reports, strict=True):
        for name in ("training_loss", "validation_loss", "encoder_cosine", "cross_attention_entropy"):
            assert getattr(report, name) == pytest.approx(getattr(wanted, name), rel=1e-9)
    assert len(captured) == 2  # encoder and decoder, each captured once for all lengths


def test_law_compiled_byte_dropout_keeps_its_fraction_and_the_mean():
    """The backend traces forward and backward as the default one does, and needs no C++ compiler."""
    dropout = torch.compile(ByteDropout(0.3), backend="aot_eager", dynamic=True, fullgraph=True)
    for rows in (31, 1009):
        x = torch.ones(rows, 997, dtype=torch.float64, requires_grad=True)
        y = dropout(x)
        y.sum().backward()
        assert (y > 0).double().mean() == pytest.approx(1 - 77 / 256, abs=0.01)
        assert y.detach()[y > 0] == pytest.approx(256 / (256 - 77))
        assert torch.equal(x.grad, y)  # backward has the mask of forward


EAGER = {"backend": "eager"}  # captures and guards like the others, and needs no compiler


def wrapped(model: Transformer) -> nn.Module:
    return torch.compile(model, **EAGER)


def in_place(model: Transformer) -> nn.Module:
    model.compile(**EAGER)
    return model


def by_parts(model: Transformer) -> nn.Module:
    model.encoder.layers[0] = torch.compile(model.encoder.layers[0], **EAGER)
    model.decoder = torch.compile(model.decoder, **EAGER)
    model.decoder.layers[0].add_norm_1 = torch.compile(model.decoder.layers[0].add_norm_1, **EAGER)
    return model


def stacks(model: Transformer) -> nn.Module:
    compile_stacks(model)
    return model


@pytest.fixture
def eager_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `compile_stacks` use that backend, too."""
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(compilation.torch, "compile", partial(torch.compile, **EAGER))


COPIES: dict[str, Callable[[nn.Module], nn.Module]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "averaged": lambda model: AveragedModel(model).module,
}


@pytest.mark.usefixtures("eager_stacks")
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_law_a_copy_of_a_compiled_model_computes_with_its_own_weights(make_model, copied):
    model, ids = make_model(dropout=0.0), torch.tensor([[5, 6, 2]])
    compile_stacks(model)
    before = model.train()(ids, ids)  # compiled
    other = copied(model)
    assert torch.equal(other(ids, ids), before)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    for mode in (True, False):
        torch.testing.assert_close(other.train(mode)(ids, ids), before)
    assert other.encoder.forward.stack is other.encoder  # it is compiled as well
    model.half().eval()  # in place, and not the copy
    assert model(ids, ids).dtype == torch.float16
    assert other(ids, ids).dtype == torch.float32


@pytest.mark.usefixtures("eager_stacks")
@pytest.mark.parametrize("way", [wrapped, in_place, by_parts, stacks])
def test_law_a_compiled_model_is_saved_translates_and_is_inspected_like_a_plain_one(
    make_model: MakeModel, tmp_path: Path, copy_pairs: MakePairs, way: Callable[[Transformer], nn.Module]
):
    plain, tokenizer = make_model(vocab_size=263, max_length=11).eval(), make_tokenizer()
    batch, *_ = make_batches(copy_pairs(5), batch_tokens=53)
    inputs = batch.src, batch.decoder_input
    model = way(copy.deepcopy(plain))
    model(*inputs)  # compiled before any hook

    @torch.no_grad()
    def results(model: Transformer) -> list[Tensor]:
        with Health(model) as health:
            model(*inputs)
        with ablate_head(model, "cross", 0, 1):
            ablated = model(*inputs)
        with changed(feed_forward_networks(model), lambda network: torch.zeros_like):
            silenced = model(*inputs)
        x = model.embed(batch.src)
        decoders = (NoCache, KeyValueCache, FastKeyValueCache)
        return [
            *(greedy_search(model, batch.src, decoder=decoder) for decoder in decoders),
            beam_search(model, batch.src).log_probs,
            Translator(model, tokenizer).explain(["A man"])[0].attention,
            observe(model, batch.src, batch.labels).attention,
            torch.tensor([health.encoder_cosine, health.cross_attention_entropy]),
            *attention_maps(model, batch).values(),
            record_outputs(model, *inputs)[""][0],
            hidden_units(model.encoder, x),
            split_stream(model.encoder, x),
            *(ablated, silenced),
        ]

    torch.testing.assert_close(results(model), results(plain), rtol=0, atol=0)
    checkpoint.save(tmp_path, model, tokenizer)
    assert same(checkpoint.load(tmp_path)[0], plain)


def test_law_a_function_that_evaluates_a_model_can_be_compiled():
    model, x = nn.Sequential(nn.Linear(3, 5), nn.Dropout()), torch.ones(2, 3)
    as_for_users = contextmanager(inspect.unwrap(evaluating))  # the shape checker's wrapper is no generator

    def evaluated(x: Tensor) -> Tensor:
        with as_for_users(model):
            return model(x)

    assert torch.equal(torch.compile(evaluated, **EAGER)(x), evaluated(x))


@pytest.mark.parametrize(("way", "fast"), [(wrapped, True), (by_parts, False)])
def test_law_a_run_resumes_compiled_or_plain_however_it_began(make_model, copy_pairs, tmp_path, way, fast):
    def run(model: nn.Module, steps: int, folder: str) -> tuple[list[Tensor], EpochMetrics]:
        config, rng = dataclasses.replace(BRIEF, steps=steps, fast=fast), torch.Generator()
        with RunDirectory(tmp_path / folder) as run_directory:
            metrics = train(model, copy_pairs(7), config, generator=rng, run_directory=run_directory)
        return list(model.parameters()), metrics[-1]

    for model, steps in ((make_model(), 1), (way(make_model()), 3), (make_model(), 5)):
        found, metrics = run(model, steps, "found")
    expected, wanted = run(make_model(), 5, "expected")
    torch.testing.assert_close(found, expected)
    assert metrics.encoder_cosine == pytest.approx(wanted.encoder_cosine, rel=1e-4)


def test_message_no_compiler(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(FileNotFoundError, match=r"needs a C\+\+ compiler, and there is none of g\+\+, clang"):
        compile_stacks(make_model())
