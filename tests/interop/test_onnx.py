"""ONNX: exported files, and what cannot be exported. What the graphs compute is in `test_onnx_graphs`."""

import copy
import json
import logging
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from annotated_transformer.interop.onnx import to_onnx
from annotated_transformer.model.masks import padding_mask
from annotated_transformer.text.batching import pad
from tests.interop.varied_models import TEXTS, tokenizer, varied_model

pytestmark = pytest.mark.usefixtures("unchecked", "one_thread")


@pytest.mark.slow
def test_law_a_folder_is_enough_to_run_the_graphs_without_this_package(tmp_path: Path, caplog, recwarn):
    """The encoder's mask, keys and values, for sizes that the export has not seen."""
    model = varied_model(num_layers=1, d_k=4, d_v=7, attention_bias=True)
    before = copy.deepcopy(model.state_dict())
    to_onnx(model, tokenizer(), tmp_path, languages=("en", "de"), dtype="int8")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("config.json", "encoder.onnx", "step.onnx", "tokenizer.json")
    ]
    settings = json.loads((tmp_path / "config.json").read_text("utf-8"))
    assert (settings["source"], settings["target"], settings["dtype"]) == ("en", "de", "int8")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert not recwarn.list
    src = pad(tokenizer().encode_source(TEXTS))
    outputs = onnxruntime.InferenceSession(tmp_path / "encoder.onnx").run(None, {"src": src.numpy()})
    mask = padding_mask(src, model.config.pad_id)
    with torch.no_grad():
        memory = model.encode(src, mask)
        keys, values = model.decoder.layers[0].cross_attention.project_memory(memory, memory)
    assert ((outputs[0] == 0) == mask.numpy()).all()
    real = mask[:, 0, 0].numpy()
    for quantized, expected in zip(outputs[1:], (keys, values), strict=True):
        gap = np.abs(quantized - expected.numpy()).transpose(0, 2, 1, 3)[real]
        assert gap.mean() < 0.05 * expected.std()
        assert gap.max() > 0  # in int8


@pytest.mark.message
def test_message_an_unknown_type_of_weights(tmp_path: Path):
    words = r"dtype='bfloat16' is not a type of exported .* \('float32', 'float16'"
    with pytest.raises(ValueError, match=words):
        to_onnx(varied_model(), tokenizer(), tmp_path, dtype="bfloat16")
