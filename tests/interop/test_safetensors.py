"""The folder for other programs is the one that `load` reads."""

from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing.checkpoint import load, read_languages
from annotated_transformer.checkpointing.files import read_tensors
from annotated_transformer.interop.safetensors import DTYPES, to_safetensors
from tests.interop.varied_models import tokenizer, varied_model

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.mark.parametrize("dtype", DTYPES)
def test_law_the_folder_has_the_weights_in_the_given_type(dtype: str, tmp_path: Path):
    model = varied_model()
    to_safetensors(model, tokenizer(), tmp_path, languages=("en", "de"), dtype=dtype)
    stored, _ = read_tensors(tmp_path / "model.safetensors", way_out="")
    assert stored.keys() == model.state_dict().keys()
    assert {tensor.dtype for tensor in stored.values()} == {DTYPES[dtype]}
    loaded, _ = load(tmp_path)
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name].to(DTYPES[dtype]).float())
    assert read_languages(tmp_path) == ("en", "de")


@pytest.mark.message
def test_message_an_unknown_type_of_weights(tmp_path: Path):
    words = r"dtype='int8' is not a type of stored weights; choose from \('float32', 'float16', 'bfloat16'\)"
    with pytest.raises(ValueError, match=words):
        to_safetensors(varied_model(), tokenizer(), tmp_path, dtype="int8")
