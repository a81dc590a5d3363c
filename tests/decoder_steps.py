"""Helpers for the tests of searches and caches: kinds of models, and decoding of given targets."""

import torch
from torch import Tensor

from annotated_transformer import Transformer
from annotated_transformer.decoding import KeyValueCache
from annotated_transformer.decoding.kv_cache import MakeDecoder
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.model.inference import evaluating
from annotated_transformer.text.tokenizer import BOS_ID, PAD_ID

STEPS, WORDS = 19, 11  # more steps than FastKeyValueCache allocates at once
CACHES = [KeyValueCache, FastKeyValueCache]
KINDS = {
    "the paper's": {},
    "learned positions, other widths": {"positions": "learned", "d_k": 5, "d_v": 7},
    "all other options": {"attention_bias": True, "activation": "gelu", "norm": "pre", "attention": "fused"},
    "other libraries'": {"final_norm": True, "activation": "swish", "output_bias": True},
    "pre-norm without a final norm": {"norm": "pre", "final_norm": False},
    "an output matrix of its own": {"tied_output": False},
}


def words(ids: Tensor) -> list[list[int]]:
    return [[token for token in row if token != PAD_ID] for row in ids.tolist()]


def decode(decoder: MakeDecoder, model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    with evaluating(model):
        targets = decoder(model, src)
        return torch.stack([targets.step(tokens) for tokens in tgt.unbind(1)], dim=1)


def some_targets(rows: int) -> Tensor:
    rng = torch.Generator().manual_seed(0)
    tgt = torch.randint(3, WORDS, (rows, STEPS), generator=rng)
    tgt[:, 0] = BOS_ID
    return tgt
