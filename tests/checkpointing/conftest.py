"""Fixtures for testing saved models and training runs."""

from pathlib import Path

import pytest

from annotated_transformer.checkpointing import checkpoint
from tests.checkpointing.small_models import make_model, make_tokenizer
from tests.tiny_run import run as run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    checkpoint.save(tmp_path / "model", make_model(), make_tokenizer())
    return tmp_path / "model"
