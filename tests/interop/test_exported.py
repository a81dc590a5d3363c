"""Models that others can hold are plain: of another model, the part is named, and edited code is told."""

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from annotated_transformer import Tokenizer, Transformer, registry, save
from annotated_transformer.interop import (
    CTranslate2Engine,
    NumpyModel,
    OnnxDecoder,
    from_torch,
    to_ctranslate2,
    to_marian,
    to_onnx,
    to_safetensors,
    to_torch,
)
from annotated_transformer.interop.exported import plain_transformer
from annotated_transformer.model import attention, masks, transformer
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.positional_encoding import SinusoidalPositions
from annotated_transformer.modern.swiglu import SwiGLU
from annotated_transformer.registry import register_attention
from tests.checkpointing.small_models import make_model, make_tokenizer
from tests.interop.varied_models import KINDS, varied_model

Way = Callable[[Any, Tokenizer, Path], object]
FOLDER = "a program that reads the folder"
WAYS: dict[str, Way] = {
    "CTranslate2": to_ctranslate2,
    "Marian": to_marian,
    "ONNX": to_onnx,
    "nn.Transformer": lambda model, *_: to_torch(model),
    "CTranslate2's engine": lambda model, *_: CTranslate2Engine.from_model(model),
    "ONNX's decoder": lambda model, *_: OnnxDecoder.from_model(model),
    FOLDER: to_safetensors,
}


def own_attention(model: Transformer) -> object:
    register_attention("own")(lambda config, place: MultiHeadAttention(config.d_model, config.num_heads))
    return model.__init__(dataclasses.replace(model.config, attention="own"))


def of(path: str, change: Callable[[nn.Module], object]) -> Callable[[Transformer], object]:
    return lambda model: change(model.get_submodule(path))


NETWORK = "encoder.layers.0.feed_forward"
CHANGES: dict[str, tuple[Callable[[Transformer], object], str]] = {
    "a part": (of(NETWORK, lambda part: setattr(part, "activation", nn.Tanh())), r"activation is .*Tanh.*"),
    "a class": (
        of(NETWORK, lambda part: setattr(part, "__class__", SwiGLU)),
        r"forward is .*\.SwiGLU and .*",
    ),
    "a method": (of(NETWORK, lambda part: setattr(part, "forward", abs)), "feed_forward overrides forward"),
    "a hook": (of("decoder", lambda part: part.register_forward_hook(print)), "^decoder has hooks"),
    "own code": (own_attention, r"^the model has attention='own', the code .*own_attention.*"),
}


@pytest.fixture
def tokenizer(monkeypatch) -> Tokenizer:
    monkeypatch.setattr(registry, "_attentions", {})
    return make_tokenizer()


@pytest.mark.message
@pytest.mark.parametrize("library", WAYS)
@pytest.mark.parametrize("change", CHANGES)
def test_message_what_other_programs_do_not_have(
    change: str, library: str, tokenizer: Tokenizer, tmp_path: Path
):
    model, (make, words) = make_model(), CHANGES[change]
    make(model)
    if (change, library) == ("own code", FOLDER):  # which names the code
        to_safetensors(model, tokenizer, tmp_path)
        with pytest.raises(ValueError, match=r"needs the code .*, which NumpyModel does not have; load "):
            NumpyModel(tmp_path)
        return
    with pytest.raises(ValueError, match=rf"{words}, which {library.partition(chr(39))[0]} (does|would) not"):
        WAYS[library](model, tokenizer, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.message
@pytest.mark.parametrize("library", ["Marian", "nn.Transformer"])
@pytest.mark.parametrize("name", ["d_k", "d_v"])
def test_message_heads_of_another_width(name: str, library: str, tokenizer: Tokenizer, tmp_path: Path):
    model = make_model(**{name: 5})
    with pytest.raises(ValueError, match=rf"^{name}=5 cannot be carried over: .* d_model / num_heads=4$"):
        WAYS[library](model, tokenizer, tmp_path)


EDITS = {
    "attention_weights": (attention, lambda old: lambda *inputs: 1.001 * old(*inputs)),
    "causal_mask": (masks, lambda old: lambda *size: torch.ones_like(old(*size))),
    "padding_mask": (transformer, lambda old: lambda *ids: torch.ones_like(old(*ids))),
    "forward": (SinusoidalPositions, lambda old: lambda *inputs: 1.001 * old(*inputs)),
}


@pytest.mark.parametrize("name", EDITS)
def test_law_whoever_takes_a_model_out_or_in_learns_of_edited_code(name: str, monkeypatch):
    model = varied_model()
    theirs, (space, edit) = to_torch(model), EDITS[name]
    monkeypatch.setattr(space, name, edit(getattr(space, name)))
    into = partial(from_torch, theirs, model.embedding.weight)
    for take in (into, partial(to_torch, model), partial(CTranslate2Engine.from_model, model)):
        with pytest.warns(UserWarning, match=r"other logits than your model \(by .*\.model was edited"):
            take()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("changes", [*KINDS.values(), {"d_k": 4, "d_v": 7}], ids=[*KINDS, "unequal heads"])
def test_law_a_model_of_any_kind_and_precision_is_taken_out_without_a_word(changes, dtype: torch.dtype):
    """A warning would fail the test; the weights may be NaN, which are no edited code."""
    model = varied_model(**changes).to(dtype)
    for _ in range(2):
        assert plain_transformer(model, "Marian") is model
        model.embedding.weight.data[:] = torch.nan


@pytest.mark.message
@pytest.mark.parametrize("write", [to_marian, to_ctranslate2, to_onnx])
def test_message_an_export_that_would_lose_a_model_or_a_weight(tokenizer, tmp_path: Path, write):
    model = make_model()
    save(tmp_path / "ours", model, tokenizer)
    with pytest.raises(ValueError, match=r"ours holds a model of this package, which would be lost; give"):
        write(model, tokenizer, tmp_path / "ours")
    for _ in range(2):  # an older export is replaced
        write(model, tokenizer, tmp_path / "theirs")
    with torch.no_grad():
        model.embedding.weight[5, 3] = 65521
    with pytest.raises(ValueError, match=r"^embedding\.weight holds 65521, more than torch\.float16 can "):
        write(model, tokenizer, tmp_path / "theirs", dtype="float16")
