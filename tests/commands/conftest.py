"""Fixtures for the tests of the commands: a folder with an untrained model."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.config import TINY
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer

DEVICE = "Translating on cpu.\n"  # what the log says before it translates
TEXTS = ["A man is sleeping in the park.", "Two dogs.", "A child"]


@pytest.fixture(autouse=True)
def _without_cuda(monkeypatch) -> None:
    """Run the commands on the CPU, in this process and in others, also where CUDA is available."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture
def run(capsys) -> Callable[..., tuple[str, str]]:
    """Run the command line with some arguments, and return what it printed to stdout and to stderr."""

    def run(*arguments: object, status: int = 0) -> tuple[str, str]:
        assert command_line.main([*map(str, arguments)]) == status
        out, err = capsys.readouterr()
        return out, err

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "en-de"
    tokenizer = Tokenizer.train(TEXTS, vocab_size=271).cleaning()
    torch.manual_seed(0)
    shape = {"num_layers": 1, "d_model": 20, "max_length": 37, "vocab_size": tokenizer.vocab_size}
    model = Transformer(dataclasses.replace(TINY, **shape))
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                module.weight *= 4  # an untrained model repeats its input: the residual dominates
    checkpoint.save(path, model, tokenizer, stored=torch.float16)
    return path


@pytest.fixture
def pretrained(folder: Path, monkeypatch) -> Path:
    monkeypatch.setattr("annotated_transformer.checkpointing.checkpoint.PRETRAINED", folder.parent)
    return folder
