"""The parts of 2017: those of `Transformer` for the same config."""

import pytest
import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.plain import differences
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.decoder_only import EncoderOnly

SIZES = {"vocab_size": 13, "max_length": 17, "num_layers": 2, "d_model": 12, "d_ff": 10, "num_heads": 3}
OTHER = {"norm": "pre", "activation": "gelu", "positions": "learned", "attention": "fused"}
OTHER |= {"d_k": 5, "d_v": 7, "attention_bias": True}


@pytest.mark.parametrize("options", [{}, OTHER], ids=["defaults", "others"])
def test_oracle_an_encoder_only_model_is_the_encoder_of_a_transformer(options):
    config = TransformerConfig(**SIZES, **options)
    model, single = Transformer(config).eval(), EncoderOnly(config).eval()
    assert list(differences(single.encoder, model.encoder)) == []
    single.load_state_dict(model.state_dict(), strict=False)
    src = torch.tensor([[3, 4, 5, 6, 2], [7, 8, 2, 0, 0]])
    memory = model.encode(src, (src != 0)[:, None, None])
    torch.testing.assert_close(single.hidden(src), memory, rtol=0, atol=0)
    torch.testing.assert_close(single(src), memory @ model.embedding.weight.T)
