"""Transformers from other libraries, built from our configs.

`torch.nn.Transformer` ends both stacks with a norm that our model and Marian do not have: 512 of 2.6 million
parameters in the tiny shape. Both peers have biases in attention, so `comparable` adds them to our model.
"""

import dataclasses
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.config import TINY, TransformerConfig
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.positional_encoding import SinusoidalPositions

SIZES = {
    "tiny": TINY,
    "toy": dataclasses.replace(TINY, vocab_size=101, num_layers=1, d_model=8, d_ff=16, num_heads=2),
}


def comparable(size: str) -> TransformerConfig:
    """Return one of `SIZES` with attention biases, as in all peers."""
    return dataclasses.replace(SIZES[size], attention_bias=True)


class TorchTransformer(nn.Module):
    """`torch.nn.Transformer` with our embedding, positional encoding, and output projection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        self.positions = SinusoidalPositions(config.d_model, config.max_length)
        self.transformer = nn.Transformer(
            config.d_model,
            config.num_heads,
            config.num_layers,
            config.num_layers,
            config.d_ff,
            batch_first=True,
        )

    def encode(self, src: Tensor) -> tuple[Tensor, Tensor]:
        """Return the encoder output, and a mask that is True at padding."""
        padding = src == self.config.pad_id
        return self.transformer.encoder(self._embed(src), src_key_padding_mask=padding), padding

    def decode(self, tgt: Tensor, memory: Tensor, padding: Tensor) -> Tensor:
        """Return the decoder output; padding comes last in `tgt`, so the causal mask hides it from words."""
        tokens = tgt.size(1)
        future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        return self.transformer.decoder(
            self._embed(tgt), memory, tgt_mask=future, memory_key_padding_mask=padding, tgt_is_causal=True
        )

    def _embed(self, ids: Tensor) -> Tensor:
        return self.positions(self.embedding(ids))


def marian_model(config: TransformerConfig) -> Any:
    """Return Hugging Face's `MarianMTModel`."""
    from transformers import MarianConfig, MarianMTModel

    stack = ("layers", config.num_layers), ("attention_heads", config.num_heads), ("ffn_dim", config.d_ff)
    shape = {f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in stack}
    settings = MarianConfig(
        **shape,
        vocab_size=config.vocab_size,
        max_position_embeddings=config.max_length,
        d_model=config.d_model,
        activation_function=config.activation,
        scale_embedding=True,
        pad_token_id=config.pad_id,
        bos_token_id=config.bos_id,
        eos_token_id=config.eos_id,
        decoder_start_token_id=config.bos_id,
        forced_eos_token_id=None,
    )
    return MarianMTModel(settings).eval()
