"""Copies of a model with one wrong line in one module, for readers to find."""

import copy

from torch import Tensor

from annotated_transformer.model.decoder import DecoderLayer, decoder_layers
from annotated_transformer.model.encoder import EncoderLayer
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.transformer import Transformer


class Unjoined(MultiHeadAttention):
    """Attention that joins its heads in one line too few."""

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Attend in every head, and mix the heads."""
        heads: Tensor = self.attention(query, key, value, mask)
        joined = heads.reshape(query.size(0), query.size(2), -1)
        output: Tensor = self.to_output(joined)
        return output


class OneAhead(DecoderLayer):
    """A decoder layer whose causal mask is shifted by one."""

    def forward(
        self, x: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        """Let each target token read the next one, too."""
        shifted = None if tgt_mask is None else tgt_mask | tgt_mask.roll(-1, dims=-2)
        return super().forward(x, memory, shifted, memory_mask)


class WithoutMean(LayerNorm):
    """A norm that divides by the root of the mean square, and subtracts no mean."""

    def forward(self, x: Tensor) -> Tensor:
        """Scale each token."""
        variance = x.square().mean(dim=-1, keepdim=True)
        return self.gain * x / (variance + self.eps).sqrt() + self.bias


class OldResidual(EncoderLayer):
    """An encoder layer whose second residual connection comes from too far below."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return every token after it has read from the others."""
        attended = self.add_norm_1(x, lambda x: self.self_attention(x, x, x, mask))
        output: Tensor = self.add_norm_2(x, lambda x: self.feed_forward(attended))
        return output


SUSPECTS = (Unjoined, OldResidual, OneAhead, WithoutMean)


def suspect(model: Transformer, number: int) -> Transformer:
    """Return a copy of a model with one wrong line, which of the suspects 1 to 4 it is.

    Raises:
        ValueError: There is no suspect of that number.
    """
    if not 1 <= number <= len(SUSPECTS):
        raise ValueError(f"number={number} is no suspect; choose from 1 to {len(SUSPECTS)}")
    wrong = copy.deepcopy(model)
    last = decoder_layers(wrong.decoder)[-1]
    right = last.cross_attention, wrong.encoder.layers[-1], wrong.decoder.layers[0], last.add_norm_3.norm
    right[number - 1].__class__ = SUSPECTS[number - 1]
    return wrong
