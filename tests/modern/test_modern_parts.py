"""The composed model of today's make: Hugging Face's Llama, and what is left out of the config."""

import warnings

import pytest
import torch
from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.modern.modern_parts import ModernParts
from annotated_transformer.modern.rotary import RotaryHalves
from annotated_transformer.registry import register_attention

SIZES = {"vocab_size": 13, "max_length": 17, "num_layers": 2, "d_model": 24, "d_ff": 11, "num_heads": 6}


class LlamaParts(ModernParts):
    """Hugging Face's Llama pairs the halves."""

    def attention(self, place="encoder"):
        attention = super().attention()
        attention.attention.positions = RotaryHalves(4, self.base)
        return attention


def llama(config: TransformerConfig, num_kv_heads: int, base: float) -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.d_model,
            intermediate_size=config.d_ff,
            num_hidden_layers=config.num_layers,
            num_attention_heads=config.num_heads,
            num_key_value_heads=num_kv_heads,
            rms_norm_eps=1e-5,
            rope_parameters={"rope_type": "default", "rope_theta": base},
            rope_theta=base,
            attn_implementation="eager",
            tie_word_embeddings=False,
        )
    ).double()


@torch.no_grad()
def copy_weights(ours: DecoderOnly, theirs: nn.Module) -> None:
    weight = ours.embedding.weight
    theirs.model.embed_tokens.weight.copy_(weight * weight.size(1) ** 0.5)  # Llama does not scale
    theirs.lm_head.weight.copy_(weight)
    theirs.model.norm.weight.copy_(ours.encoder.final_norm.gain)
    for mine, yours in zip(ours.encoder.layers, theirs.model.layers, strict=True):
        for name, projection in {"q": "query", "k": "key", "v": "value", "o": "output"}.items():
            source = getattr(mine.self_attention, f"to_{projection}")
            getattr(yours.self_attn, f"{name}_proj").weight.copy_(source.weight)
        for name, part in {"gate": "gate", "up": "expand", "down": "contract"}.items():
            getattr(yours.mlp, f"{name}_proj").weight.copy_(getattr(mine.feed_forward, part).weight)
        yours.input_layernorm.weight.copy_(mine.add_norm_1.norm.gain)
        yours.post_attention_layernorm.weight.copy_(mine.add_norm_2.norm.gain)


@pytest.mark.parametrize(("num_kv_heads", "base"), [(6, 10_000.0), (2, 10_000.0), (1, 500.0)])
def test_oracle_the_composed_model_is_hugging_faces_llama(randomized, num_kv_heads, base):
    config = TransformerConfig(**SIZES, dropout=0.0)
    ours = randomized(DecoderOnly(config, LlamaParts(config, num_kv_heads=num_kv_heads, base=base)))
    theirs = llama(config, num_kv_heads, base)
    copy_weights(ours, theirs)
    assert sum(p.numel() for p in theirs.parameters()) == sum(p.numel() for p in ours.parameters()) + 13 * 24
    ids = torch.randint(3, 13, (3, 11), generator=torch.Generator().manual_seed(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of transformers
        expected = theirs(ids).logits
    assert expected.std() > 0.1
    # Hugging Face computes angles and norms in float32
    torch.testing.assert_close(ours(ids), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.message
def test_message_a_registered_attention_is_not_rotated(monkeypatch):
    monkeypatch.setattr("annotated_transformer.registry._attentions", {})
    register_attention("mine")(lambda config, place: nn.Identity())
    config = TransformerConfig(**SIZES, attention="mine")
    sentence = r"^attention='mine' was registered, and has .* choose from \['scaled_dot_product', 'fused'\]$"
    with pytest.raises(ValueError, match=sentence):
        ModernParts(config)
