"""Compiled models: the results of plain ones, the same parameter names, working hooks, and real copies."""

import copy
import dataclasses
import inspect
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

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
from annotated_transformer.fast.kv_cache import FastKeyValueCache
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
BRIEF = TrainingConfig(steps=11, batch_tokens=53, warmup_steps=3, max_lr=1e-2)


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


@pytest.mark.parametrize("way", [wrapped, in_place, by_parts])
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


@pytest.mark.parametrize("way", [wrapped, by_parts])
def test_law_a_run_resumes_compiled_or_plain_however_it_began(make_model, copy_pairs, tmp_path, way):
    def run(model: nn.Module, steps: int, folder: str) -> tuple[list[Tensor], EpochMetrics]:
        config, rng = dataclasses.replace(BRIEF, steps=steps), torch.Generator()
        with RunDirectory(tmp_path / folder) as run_directory:
            metrics = train(model, copy_pairs(7), config, generator=rng, run_directory=run_directory)
        return list(model.parameters()), metrics[-1]

    for model, steps in ((make_model(), 1), (way(make_model()), 3), (make_model(), 5)):
        found, metrics = run(model, steps, "found")
    expected, wanted = run(make_model(), 5, "expected")
    torch.testing.assert_close(found, expected)
    assert metrics.encoder_cosine == pytest.approx(wanted.encoder_cosine, rel=1e-4)
