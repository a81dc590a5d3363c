"""Linear maps without biases: the function of zero biases, and how many there were."""

import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.biases import remove_biases


def test_law_a_new_model_computes_the_same_without_its_biases():
    config = TransformerConfig(
        vocab_size=13, max_length=17, num_layers=2, d_model=12, d_ff=10, num_heads=3, attention_bias=True
    )
    model = Transformer(config).eval()
    src, tgt = torch.randint(3, 13, (2, 5)), torch.randint(3, 13, (2, 7))
    before, total = model(src, tgt), sum(p.numel() for p in model.parameters())
    removed = remove_biases(model)
    assert removed == 2 * (3 * 4 * 12 + 2 * (10 + 12))  # three attentions and two networks per layer
    assert sum(p.numel() for p in model.parameters()) == total - removed
    assert torch.equal(model(src, tgt), before)
    assert remove_biases(model) == 0
