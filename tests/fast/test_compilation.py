"""Compiled stacks: the results of plain training, the same parameter names, and working hooks."""

import shutil
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, fx

from annotated_transformer.fast import compilation
from annotated_transformer.fast.compilation import compile_stacks
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Pair
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.metrics import EpochMetrics
from annotated_transformer.training.trainer import train

MakeModel = Callable[..., Transformer]
MakePairs = Callable[..., list[Pair]]
BRIEF = TrainingConfig(steps=11, batch_tokens=53, warmup_steps=3, max_lr=1e-2)


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> list[fx.GraphModule]:
    """Collect the captured graphs, which then run uncompiled."""
    graphs: list[fx.GraphModule] = []

    def collect(graph: fx.GraphModule, inputs: list[Tensor]) -> Callable[..., object]:
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(compilation.torch, "compile", partial(torch.compile, backend=collect, fullgraph=True))
    return graphs


@pytest.mark.message  # not a message: runs without the shape checker, whose code cannot be captured
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # accessed by PyTorch's own tracing
def test_oracle_a_compiled_training_run_has_the_results_of_a_plain_one(
    make_model: MakeModel, copy_pairs: MakePairs, captured: list[fx.GraphModule]
):
    def run(model: Transformer) -> tuple[list[EpochMetrics], dict[str, Tensor]]:
        pairs, rng = copy_pairs(43), torch.Generator().manual_seed(0)
        return train(model, pairs, BRIEF, generator=rng, validation=pairs[:7]), model.state_dict()

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


@pytest.mark.message
def test_message_no_compiler(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(FileNotFoundError, match=r"needs a C\+\+ compiler, and there is none of g\+\+, clang"):
        compile_stacks(make_model())
