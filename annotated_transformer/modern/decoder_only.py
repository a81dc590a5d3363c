"""Decoder-only and encoder-only models: the encoder's layers, and one switch, the mask."""

from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.calls import warn
from annotated_transformer.model.masks import decoder_mask, padding_mask
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.model.trainable import DecodeAgain
from annotated_transformer.modern.cache import DecoderOnlyCache
from annotated_transformer.modern.single_stack import SingleStack


class DecoderOnly(SingleStack):
    """Each token attends to earlier ones, so logits are of the next token: GPT (Radford et al., 2018).

    `train` takes pairs with an empty source, `([], [BOS, …, EOS])`, and `sample` prompts that begin with BOS.
    """

    def mask(
        self,
        ids: Int[Tensor, "batch tokens"],
    ) -> Bool[Tensor, "batch 1 tokens tokens"]:
        """Return the padding mask and the causal mask."""
        return decoder_mask(ids, self.config.pad_id)

    def loss(self, batch: Any, *, smoothing: float | int) -> Float[Tensor, ""]:
        """Return the mean loss of the next tokens, in nats."""
        if batch.src.size(1) > 0:
            raise ValueError(
                f"the batch has sources of {batch.src.size(1)} tokens, and a decoder-only model reads one "
                f"text; give pairs with an empty source, and the source at the beginning of the target"
            )
        return self.cross_entropy(self(batch.decoder_input), batch.labels, smoothing)

    def start(
        self, src: Int[Tensor, "batch src_tokens"]
    ) -> tuple[DecoderOnlyCache | DecodeAgain, Int[Tensor, "batch tgt_tokens"]]:
        """Return a cache, or with a warning `DecodeAgain` if it refuses the model; and the prompts."""
        try:
            return DecoderOnlyCache(self, len(src)), src
        except NotPlain as refusal:
            warn(f"decoding without a cache, which is slower: {refusal}")
            return DecodeAgain(self, src), src


class EncoderOnly(SingleStack):
    """Each token attends to all, so logits can be of hidden tokens: BERT (Devlin et al., 2019).

    `train` takes pairs of tokens, some of them replaced, and BOS with the tokens to find there:
    `([5, 3, 7], [BOS, 5, 6, 7])`.
    """

    def mask(self, ids: Int[Tensor, "batch tokens"]) -> Bool[Tensor, "batch 1 1 tokens"]:
        """Return the padding mask alone."""
        return padding_mask(ids, self.config.pad_id)

    def loss(self, batch: Any, *, smoothing: float | int) -> Float[Tensor, ""]:
        """Return the mean loss of the label at each token, in nats."""
        if batch.src.shape != batch.labels.shape:
            raise ValueError(
                f"the batch has tokens of shape {tuple(batch.src.shape)} and labels of "
                f"{tuple(batch.labels.shape)}; give as many labels as tokens, after BOS"
            )
        return self.cross_entropy(self(batch.src), batch.labels, smoothing)
