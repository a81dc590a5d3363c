"""The model in NumPy computes what ours computes, from nothing but the files of a folder."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from annotated_transformer.checkpointing.checkpoint import load, pretrained_folder, save
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.interop.numpy_model import NumpyModel
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import EOS_ID
from tests.explorer_sentences import sentences
from tests.interop.varied_models import KINDS, tokenizer, varied_model

pytestmark = pytest.mark.usefixtures("unchecked", "one_thread")
SRC, TGT = [4, 250, 6, 7, 11, EOS_ID], [1, 7, 8, 201, 10, 11, 9]


def gap(model: Transformer, in_numpy: NumpyModel, src: list[int], tgt: list[int]) -> float:
    """Return the largest difference of a logit, in standard deviations of the logits."""
    with torch.no_grad():
        expected = model(torch.tensor([src]), torch.tensor([tgt]))[0].numpy()
    logits = in_numpy(src, tgt)
    assert logits.dtype == expected.dtype
    assert logits.std(axis=0).mean() > 1e-3  # they differ between positions
    return float(np.abs(logits - expected).max() / expected.std())


@pytest.mark.parametrize("kind", [*KINDS, "unequal heads"])
def test_oracle_in_float64_each_kind_of_model_has_the_same_logits(kind: str, tmp_path: Path):
    model = varied_model(**KINDS.get(kind, {"d_k": 4, "d_v": 7}))
    save(tmp_path, model, tokenizer())
    model = model.double()
    if model.config.positions == "sinusoidal":  # the model's own table of sines is rounded to float32
        table = model.positions.get_buffer("table")
        for place, feature in np.ndindex(*table.shape):
            angle = place / 10_000 ** (feature // 2 * 2 / table.size(1))
            table[place, feature] = math.cos(angle) if feature % 2 else math.sin(angle)
    assert gap(model, NumpyModel(tmp_path, np.float64), SRC, TGT) < 1e-12


def test_oracle_greedy_search_in_numpy_finds_the_same_translations():
    folder = pretrained_folder("en-de")
    model, its_tokenizer = load(folder)
    in_numpy, texts = NumpyModel(folder), sentences("en-de", 10)
    for text, expected in zip(texts, Translator(model, its_tokenizer).translate(texts), strict=True):
        (src,) = its_tokenizer.encode_source([text])
        tgt = [1]
        while tgt[-1] != EOS_ID:
            logits = in_numpy(src, tgt)[-1]
            logits[[0, 1]] = -np.inf  # PAD and BOS
            tgt.append(int(logits.argmax()))
        assert its_tokenizer.decode([tgt]) == [expected]
        assert gap(model, in_numpy, src, tgt) < 1e-4


def test_law_the_module_does_not_need_pytorch(root: Path):
    source = (root / "annotated_transformer" / "interop" / "numpy_model.py").read_text("utf-8")
    run = f"import sys; sys.modules['torch'] = None; exec({source!r}); print(NumpyModel.__doc__)"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    assert "in float32" in done.stdout
