"""Only plain models are exported: of others, the part that a library does not have is named."""

from pathlib import Path

import pytest
from torch import nn

from annotated_transformer import Tokenizer, Transformer, TransformerConfig, registry
from annotated_transformer.interop import to_ctranslate2, to_marian, to_onnx
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.registry import register_attention

EXPORTS = {"CTranslate2": to_ctranslate2, "Marian": to_marian, "ONNX": to_onnx}


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["one two"], vocab_size=263)


@pytest.mark.message
@pytest.mark.parametrize("library", EXPORTS)
def test_message_a_model_that_a_library_cannot_hold(
    library: str, tokenizer: Tokenizer, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(registry, "_attentions", {})

    @register_attention("own")
    def own(config: TransformerConfig, place: str) -> MultiHeadAttention:
        return MultiHeadAttention(config.d_model, config.num_heads)

    shape = {"vocab_size": tokenizer.vocab_size, "max_length": 11, "num_layers": 1, "d_model": 6, "d_ff": 7}
    named = Transformer(TransformerConfig(**shape, num_heads=3, attention="own"))
    changed = Transformer(TransformerConfig(**shape, num_heads=3))
    changed.encoder.layers[0].feed_forward.activation = nn.Tanh()
    for model, kind, words in (
        (nn.Linear(2, 3), TypeError, f"of type Linear, and {library} takes a Transformer"),
        (named, ValueError, rf"attention='own', the code .*\.own, which {library} does not have; export a"),
        (changed, ValueError, r"feed_forward\.activation is .*Tanh"),
    ):
        with pytest.raises(kind, match=words):
            EXPORTS[library](model, tokenizer, tmp_path)
    assert list(tmp_path.iterdir()) == []
