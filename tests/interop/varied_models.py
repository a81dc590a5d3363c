"""Small models with varied outputs, one of each kind that a config describes, and their tokenizer."""

import dataclasses
from typing import Any

import torch
from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer

TEXTS = ["A man is sleeping in the park.", "Two dogs.", "A child", "Men are running, and dogs, too.", "Dogs!"]
SHAPE = TransformerConfig(
    vocab_size=271, max_length=61, num_layers=2, d_model=30, d_ff=22, num_heads=5, dropout=0.3
)
KINDS: dict[str, dict[str, object]] = {
    "paper": {},
    "pre-norm": {"norm": "pre"},
    "no final norm": {"norm": "pre", "final_norm": False},
    "gelu": {"activation": "gelu"},
    "swish": {"activation": "swish"},
    "output bias": {"output_bias": True},
    "untied": {"tied_output": False},
    "learned positions": {"positions": "learned"},
    "biases": {"attention_bias": True, "attention": "fused"},
    "narrow heads": {"d_k": 4, "d_v": 4},
    "everything": {"norm": "pre", "activation": "gelu", "positions": "learned", "attention_bias": True},
}


def tokenizer() -> Tokenizer:
    """Return a tokenizer that cleans its input, as those of the packaged models do."""
    return Tokenizer.train(TEXTS, vocab_size=SHAPE.vocab_size).cleaning()


def varied_model(seed: int = 0, **changes: object) -> Transformer:
    """Return a model in evaluation mode whose weights are all different: no gain is 1, and no bias is 0."""
    torch.manual_seed(seed)
    model = Transformer(dataclasses.replace(SHAPE, vocab_size=tokenizer().vocab_size, **changes))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("gain"):
                parameter.normal_(1, 0.4)
            elif name.endswith("bias"):
                parameter.normal_(std=0.3)
            elif parameter.ndim == 2 and "embedding" not in name and "table" not in name:
                parameter *= 3
    return model.eval()


@torch.no_grad()
def stirred(module: nn.Module, seed: int = 0) -> Any:
    """Return the module in float64 with random weights: none stays at 0 or 1."""
    rng = torch.Generator().manual_seed(seed)
    for parameter in module.double().parameters():
        if parameter.requires_grad:  # as tables of positions do not
            parameter.normal_(generator=rng)
            parameter.mul_(parameter.size(-1) ** -0.5 if parameter.ndim > 1 else 1)
    return module
