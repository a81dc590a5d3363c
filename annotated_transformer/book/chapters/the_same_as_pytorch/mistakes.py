"""Wrong programs: each changes one thing in a copy of a model, without an error."""

import copy
import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.model.decoder import decoder_layers
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PostNorm, PreNorm
from annotated_transformer.model.transformer import Transformer

Change = Callable[[Transformer], None]


class Interleaved(MultiHeadAttention):
    """Feature i belongs to head i mod h, instead of heads being blocks of features."""

    def _project(self, projection: nn.Linear, x: Tensor, num_heads: int) -> Tensor:
        projected: Tensor = projection(x)
        return projected.unflatten(-1, (-1, num_heads)).movedim(-1, 1)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend, and put the heads' features back in turns."""
        heads: Tensor = self.attention(query, key, value, mask)
        output: Tensor = self.to_output(heads.movedim(1, -1).flatten(2))
        return output


class DeviationNorm(LayerNorm):
    """Divide by the deviation with n − 1, plus eps, as an early tutorial does."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalize each token."""
        centered = x - x.mean(dim=-1, keepdim=True)
        return self.gain * centered / (x.std(dim=-1, keepdim=True) + self.eps) + self.bias


class AlwaysDropout(nn.Dropout):
    """`F.dropout`, whose `training` is True by default."""

    def forward(self, x: Tensor) -> Tensor:
        """Drop numbers, in evaluation mode, too."""
        return F.dropout(x, self.p)


def multi_head_attentions(model: nn.Module) -> Iterator[MultiHeadAttention]:
    """Yield all multi-head attentions of a model."""
    return (module for module in model.modules() if isinstance(module, MultiHeadAttention))


def _pass_on(change: Callable[..., tuple[Tensor | None, ...]]) -> Change:
    """Return a mistake that changes the query, the key, the value, and the mask of each attention."""

    def mistake(model: Transformer) -> None:
        for each in multi_head_attentions(model):
            each.attention.register_forward_pre_hook(lambda _, given: change(*given))

    return mistake


def forget_source_mask(model: Transformer) -> None:
    """Let targets attend to the source's padding."""
    for layer in decoder_layers(model.decoder):
        attention = layer.cross_attention.attention
        attention.register_forward_pre_hook(lambda _, given: (*given[:3], None))


def shrink_eps(model: Transformer) -> None:
    """Take the eps of other libraries."""
    for module in model.modules():
        if isinstance(module, LayerNorm):
            module.eps = 1e-6


def forget_biases(model: Transformer) -> None:
    """Leave the biases of queries, keys, and values at 0."""
    for each in multi_head_attentions(model):
        for part in (each.to_query, each.to_key, each.to_value):
            if part.bias is not None:
                part.bias.zero_()


def exchange_query_and_key(model: Transformer) -> None:
    """Cut a fused matrix into parts in the wrong order."""
    for each in multi_head_attentions(model):
        each.to_query, each.to_key = each.to_key, each.to_query


def transpose_output(model: Transformer) -> None:
    """Forget that another library stores a matrix the other way round."""
    for each in multi_head_attentions(model):
        each.to_output.weight.copy_(each.to_output.weight.T.clone())


def halve_positions(model: Transformer) -> None:
    """Put all sines before all cosines, instead of in pairs."""
    table = model.positions.get_buffer("table")
    table.copy_(torch.cat([table[:, 0::2], table[:, 1::2]], dim=1))


def drop_final_norms(model: Transformer) -> None:
    """Leave out the norms at the ends of the stacks."""
    model.encoder.final_norm, model.decoder.final_norm = nn.Identity(), nn.Identity()


def _turn(kind: type[nn.Module], into: type[nn.Module]) -> Change:
    def change(model: Transformer) -> None:
        for module in model.modules():
            if type(module) is kind:
                module.__class__ = into

    return change


def approximate_gelu(model: Transformer) -> None:
    """Take the other form of GELU, by tanh."""
    for module in model.modules():
        if isinstance(module, nn.GELU):
            module.approximate = "tanh"


MISTAKES: dict[str, Change] = {
    "masks inverted": _pass_on(lambda q, k, v, m: (q, k, v, None if m is None else ~m)),
    "source padding not masked": forget_source_mask,
    "scaled twice": _pass_on(lambda q, k, v, m: (q / math.sqrt(q.size(-1)), k, v, m)),
    "query and key exchanged": exchange_query_and_key,
    "heads interleaved": _turn(MultiHeadAttention, Interleaved),
    "matrix transposed": transpose_output,
    "biases left at 0": forget_biases,
    "halves, not pairs": halve_positions,
    "pre-norm": _turn(PostNorm, PreNorm),
    "no final norms": drop_final_norms,
    "deviation by n − 1": _turn(LayerNorm, DeviationNorm),
    "dropout left on": _turn(nn.Dropout, AlwaysDropout),
    "GELU by tanh": approximate_gelu,
    "eps of 1e-6": shrink_eps,
}


def with_mistake(model: Transformer, mistake: str) -> Transformer:
    """Return a copy of a model with one of the mistakes."""
    wrong = copy.deepcopy(model)
    with torch.no_grad():
        MISTAKES[mistake](wrong)
    return wrong
