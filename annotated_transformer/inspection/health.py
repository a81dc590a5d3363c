"""Two metrics of training failures that the loss hides: a collapsed encoder, and uniform cross-attention.

The chapter on training describes the failures in which these numbers stay near 1.
"""

import math
from contextlib import ExitStack

import torch.nn.functional as F
from jaxtyping import Bool
from torch import Tensor, nn

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.attention import FusedAttention, ScaledDotProductAttention, attention_weights
from annotated_transformer.model.inference import hooking
from annotated_transformer.model.plain import unwrap
from annotated_transformer.model.transformer import Transformer

COLLAPSED = 0.95  # an encoder with a higher mean cosine has collapsed


@refuses_other_kinds
class Health:
    """Observes a model inside a `with` block, by hooks that change nothing, as far as this thread calls it.

    Both numbers are means over all tokens observed, without padding; NaN if there are none. Only attentions
    whose weights are those of equation 1 are observed, so there may be none in a model with others.
    """

    def __init__(self, model: Transformer) -> None:
        self.model = unwrap(model)
        self._cosines: list[tuple[float, int]] = []
        self._entropies: list[tuple[float, int]] = []

    @property
    def encoder_cosine(self) -> float:
        """Return the mean cosine between the memory vectors of two positions of a sentence.

        Near 1, the encoder has collapsed: it returns almost the same vector at every position.
        """
        return _mean(self._cosines)

    @property
    def cross_attention_entropy(self) -> float:
        """Return the entropy of the cross-attention weights, as a fraction of the maximum.

        At 1, each target token attends to all source tokens equally.
        """
        return _mean(self._entropies)

    def __enter__(self) -> "Health":
        self._hooks = ExitStack()
        self._hooks.enter_context(hooking(self.model.register_forward_pre_hook, self._see_tokens))
        self._hooks.enter_context(hooking(self.model.encoder.register_forward_hook, self._see_memory))
        for name, module in self.model.decoder.named_modules():
            if name.endswith("cross_attention.attention") and _is_scaled_dot_product(module):
                self._hooks.enter_context(hooking(module.register_forward_pre_hook, self._see_attention))
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.close()

    def _see_tokens(self, model: nn.Module, args: tuple[Tensor, ...]) -> None:
        (src, tgt), config = args, self.model.config
        self._real_src: Bool[Tensor, "batch src_tokens"] = src != config.pad_id
        # A shorter target has its EOS as decoder input; no label follows it.
        self._real_tgt: Bool[Tensor, "batch tgt_tokens"] = (tgt != config.pad_id) & (tgt != config.eos_id)

    def _see_memory(self, encoder: nn.Module, args: object, memory: Tensor) -> None:
        real = self._real_src.unsqueeze(-1)
        directions = F.normalize(memory.detach().float(), dim=-1) * real
        tokens = self._real_src.sum(1)
        # The sum of u_i · u_j over pairs i ≠ j is |Σ u_i|² minus the sum of u_i · u_i = 1.
        cosines = directions.sum(1).square().sum(-1) - tokens
        self._cosines.append((cosines.sum().item(), int((tokens * (tokens - 1)).sum())))

    def _see_attention(self, attention: nn.Module, args: tuple[Tensor, ...]) -> None:
        query, key, _, mask = args
        if query.shape[:2] != key.shape[:2] or query.ndim != 4:
            return  # an attention of other code, whose heads share keys
        weights = attention_weights(query.detach().float(), key.detach().float(), mask)
        entropy = -weights.xlogy(weights).sum(-1).mean(1)  # mean over heads
        highest = self._real_src.sum(1, keepdim=True).log()
        counted = self._real_tgt & (highest > 0)  # with one source token, the maximum is 0
        shares = (entropy / highest)[counted]
        self._entropies.append((shares.sum().item(), len(shares)))


def _is_scaled_dot_product(attention: nn.Module) -> bool:
    attention = unwrap(attention)
    ours = type(attention) in (ScaledDotProductAttention, FusedAttention)
    return ours or bool(getattr(attention, "same_in_evaluation", False))


def _mean(parts: list[tuple[float, int]]) -> float:
    """Return the mean of numbers, given as their sums and counts."""
    count = sum(number for _, number in parts)
    return sum(total for total, _ in parts) / count if count else math.nan
