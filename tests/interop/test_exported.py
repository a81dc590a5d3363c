"""Models that others can hold are plain: of another model, the part is named, and edited code is told."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from annotated_transformer import Tokenizer, Transformer, TransformerConfig, registry
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
from annotated_transformer.model import attention, masks
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PostNorm
from annotated_transformer.model.positional_encoding import SinusoidalPositions
from annotated_transformer.registry import register_attention
from tests.interop.varied_models import KINDS, varied_model

Way = Callable[[Any, Tokenizer, Path], object]
WAYS: dict[str, Way] = {
    "CTranslate2": to_ctranslate2,
    "Marian": to_marian,
    "ONNX": to_onnx,
    "nn.Transformer": lambda model, *_: to_torch(model),
    "CTranslate2's engine": lambda model, *_: CTranslate2Engine.from_model(model),
    "ONNX's decoder": lambda model, *_: OnnxDecoder.from_model(model),
    "a program that reads the folder": to_safetensors,
}
SHAPE = {"vocab_size": 260, "max_length": 11, "num_layers": 1, "d_model": 6, "d_ff": 7, "num_heads": 3}


class Twice(FeedForward):
    """A network that somebody changed."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


PARTS: dict[str, tuple[Callable[[nn.Module], object], str]] = {  # a change of a network, and its message
    "activation": (
        lambda part: setattr(part, "activation", nn.Tanh()),
        r"feed_forward\.activation is .*Tanh",
    ),
    "class": (lambda part: setattr(part, "__class__", Twice), r"feed_forward is .*\.Twice and not .*\.Feed"),
    "forward": (lambda part: setattr(part, "forward", lambda x: x), "feed_forward overrides forward"),
    "hook": (lambda part: part.register_forward_hook(print), "feed_forward has hooks"),
    "hook before": (lambda part: part.expand.register_forward_pre_hook(print), "expand has hooks"),
}


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["one two"], vocab_size=260)


@pytest.mark.message
@pytest.mark.parametrize("library", WAYS)
@pytest.mark.parametrize("change", PARTS)
def test_message_a_part_that_no_library_has(change: str, library: str, tokenizer: Tokenizer, tmp_path: Path):
    model = Transformer(TransformerConfig(**SHAPE))
    make, words = PARTS[change]
    make(model.encoder.layers[0].feed_forward)
    with pytest.raises(
        ValueError, match=rf"{words}.*, which {library.partition(chr(39))[0]} (does|would) not"
    ):
        WAYS[library](model, tokenizer, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.message
@pytest.mark.parametrize("library", WAYS)
def test_message_an_own_attention_is_known_to_no_other_program(
    library: str, tokenizer: Tokenizer, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(registry, "_attentions", {})
    register_attention("own")(lambda config, place: MultiHeadAttention(config.d_model, config.num_heads))
    named = Transformer(TransformerConfig(**SHAPE, attention="own"))
    words = r"attention='own', the code .*own.*, which \S+ does not have; export a"
    if library.startswith("a program"):  # the folder names the code
        WAYS[library](named, tokenizer, tmp_path)
        library, words = "NumPy", r"needs the code .*own.*, which NumpyModel does not have; load it by load"
    with pytest.raises(ValueError, match=words):
        NumpyModel(tmp_path) if library == "NumPy" else WAYS[library](named, tokenizer, tmp_path)


@pytest.mark.message
@pytest.mark.parametrize("library", ["CTranslate2", "Marian", "ONNX", "nn.Transformer"])
def test_message_a_model_of_another_class(library: str, tokenizer: Tokenizer, tmp_path: Path):
    with pytest.raises(TypeError, match=f"of type Linear, and {library} takes a Transformer"):
        WAYS[library](nn.Linear(2, 3), tokenizer, tmp_path)


@pytest.mark.message
@pytest.mark.parametrize("library", ["Marian", "nn.Transformer"])
@pytest.mark.parametrize("name", ["d_k", "d_v"])
def test_message_heads_of_another_width(name: str, library: str, tokenizer: Tokenizer, tmp_path: Path):
    model = Transformer(TransformerConfig(**SHAPE, **{name: 5}))
    with pytest.raises(ValueError, match=rf"^{name}=5 cannot be carried over: .* d_model / num_heads=2$"):
        WAYS[library](model, tokenizer, tmp_path)


def edit(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *inputs, **options: 1.001 * function(*inputs, **options)


EDITS = {
    "attention_weights": (attention, "attention_weights", edit),
    "the causal mask": (masks, "causal_mask", lambda old: lambda *size: torch.ones_like(old(*size))),
    "the padding mask": (masks, "padding_mask", lambda old: lambda *ids: torch.ones_like(old(*ids))),
    "the network": (FeedForward, "forward", edit),
    "the norm": (LayerNorm, "forward", edit),
    "the residual": (PostNorm, "forward", lambda old: lambda self, x, sublayer: self.norm(sublayer(x))),
    "positions": (SinusoidalPositions, "forward", edit),
    "decode": (Transformer, "decode", edit),
}


@pytest.mark.parametrize("name", EDITS)
def test_law_whoever_takes_a_model_out_or_in_learns_of_edited_code(name: str, monkeypatch):
    model = varied_model()
    theirs = to_torch(model)
    space, function, change = EDITS[name]
    edited = change(getattr(space, function))
    monkeypatch.setattr(space, function, edited)
    if space is masks:
        monkeypatch.setattr("annotated_transformer.model.transformer.padding_mask", masks.padding_mask)
    for take in (to_torch, CTranslate2Engine.from_model, partial(from_torch, theirs, model.embedding.weight)):
        with pytest.warns(
            UserWarning, match=r"computes other logits than your model \(by .*\.model was edited"
        ):
            take(model) if not isinstance(take, partial) else take()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("changes", [*KINDS.values(), {"d_k": 4, "d_v": 7}], ids=[*KINDS, "unequal heads"])
def test_law_a_model_of_any_kind_and_precision_is_taken_out_without_a_word(changes, dtype: torch.dtype):
    """A warning would fail the test; the weights may be NaN, which are no edited code."""
    model = varied_model(**changes).to(dtype)
    assert plain_transformer(model, "Marian") is model
    model.embedding.weight.data[:] = torch.nan
    plain_transformer(model, "Marian")
