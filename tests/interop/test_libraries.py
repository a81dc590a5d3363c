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
@pytest.mark.parametrize(
    ("missing", "read", "purpose"),
    [
        ("sentencepiece", read_spm, "reading a SentencePiece model"),
        ("google.protobuf", read_spm, "reading a SentencePiece model"),
        ("transformers", from_marian, "importing a Marian model"),
    ],
)
def test_message_a_library_that_is_not_installed(
    monkeypatch, tmp_path: Path, missing: str, read, purpose: str
):
    (tmp_path / "config.json").write_text('{"model_type": "marian"}')
    for name in ("sentencepiece.sentencepiece_model_pb2", "sentencepiece", "google.protobuf.message"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    way_out = "which is not installed; run pip install '.[interop]' in the folder of this book"
    words = f"^{purpose} needs {missing}.*, {re.escape(way_out)}$"
    with pytest.raises(ModuleNotFoundError, match=words) as caught:
        read(tmp_path)
    assert caught.value.name.startswith(missing)


@pytest.mark.message
@pytest.mark.parametrize("read", [from_marian, NumpyModel, OnnxDecoder, CTranslate2Engine])
def test_message_a_folder_that_is_missing_or_holds_no_model(read, tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"^there is no folder .*nowhere; give the one that contain"):
        read(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"has no (config\.json|encoder\.onnx); it contains nothing"):
        read(tmp_path)
