"""Libraries that are missing: one line that says which, what for, and how to install it."""

import re
import sys
from pathlib import Path

import pytest

from annotated_transformer.interop.ctranslate2 import CTranslate2Engine
from annotated_transformer.interop.marian import from_marian
from annotated_transformer.interop.numpy_model import NumpyModel
from annotated_transformer.interop.onnx_decoder import OnnxDecoder
from annotated_transformer.interop.spm_files import read_spm


@pytest.mark.message
@pytest.mark.parametrize("missing", ["sentencepiece", "google.protobuf"])
def test_message_what_reads_a_sentencepiece_model(monkeypatch, tmp_path: Path, missing: str):
    for name in ("sentencepiece.sentencepiece_model_pb2", "sentencepiece", "google.protobuf.message"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    sentence = f"reading a SentencePiece model needs {missing}"
    with pytest.raises(
        ModuleNotFoundError, match=f"^{re.escape(sentence)}.*, which is not installed; run pip"
    ):
        read_spm(tmp_path / "one.spm")


@pytest.mark.message
def test_message_what_loads_a_marian_model(monkeypatch, tmp_path: Path):
    (tmp_path / "config.json").write_text('{"model_type": "marian"}')
    monkeypatch.setitem(sys.modules, "transformers", None)
    sentence = (
        "importing a Marian model needs transformers, which is not installed; "
        "run pip install '.[interop]' in the folder of this book"
    )
    with pytest.raises(ModuleNotFoundError, match=f"^{re.escape(sentence)}$") as caught:
        from_marian(tmp_path)
    assert caught.value.name == "transformers"


@pytest.mark.message
@pytest.mark.parametrize("read", [from_marian, NumpyModel, OnnxDecoder, CTranslate2Engine])
def test_message_a_folder_that_is_missing_or_holds_no_model(read, tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"^there is no folder .*nowhere; give the one that contain"):
        read(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"has no (config\.json|encoder\.onnx); it contains nothing"):
        read(tmp_path)
