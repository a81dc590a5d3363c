"""A model and a tokenizer small enough to save in every test."""

import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer

FILES = ["config.json", "model.safetensors", "tokenizer.json"]
TEXTS = ["A man is sleeping.", "Ein Mann schläft."]


def make_tokenizer(vocab_size: int = 263) -> Tokenizer:
    return Tokenizer.train(TEXTS * 2, vocab_size=vocab_size)


def make_model(seed: int = 0, **changes: object) -> Transformer:
    torch.manual_seed(seed)
    shape = {"vocab_size": 263, "max_length": 19, "num_layers": 1, "d_model": 12, "d_ff": 14, "num_heads": 3}
    return Transformer(TransformerConfig(**{**shape, **changes}))


def same(one: Transformer, other: Transformer) -> bool:
    ours, theirs = one.state_dict(), other.state_dict()
    return (
        one.config == other.config
        and list(ours) == list(theirs)
        and all(torch.equal(ours[name], theirs[name]) for name in ours)
    )
