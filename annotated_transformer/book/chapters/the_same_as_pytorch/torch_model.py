"""The same model around PyTorch's `nn.Transformer`, and its weights under the names of this package."""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.transformer import Transformer

NAMES = {  # PyTorch's, and this package's, replaced in this order
    "stacks.": "",
    "self_attn": "self_attention",
    "multihead_attn": "cross_attention",
    "out_proj": "to_output",
    "linear1": "feed_forward.expand",
    "linear2": "feed_forward.contract",
    "norm1": "add_norm_1.norm",
    "norm2": "add_norm_2.norm",
    "norm3": "add_norm_3.norm",
    "coder.norm": "coder.final_norm",
    "norm.weight": "norm.gain",
}


class Sinusoids(nn.Module):
    """Add sines and cosines in pairs, computed in float64 by a loop over their definition."""

    def __init__(self, d_model: int, length: int) -> None:
        """Compute the table."""
        super().__init__()
        angles = [[p / 10_000 ** (i // 2 * 2 / d_model) for i in range(d_model)] for p in range(length)]
        rows = [[math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(row)] for row in angles]
        self.register_buffer("table", torch.tensor(rows, dtype=torch.float64), persistent=False)

    def forward(self, x: Float[Tensor, "batch tokens d_model"]) -> Float[Tensor, "batch tokens d_model"]:
        """Return each token plus the vector of its position."""
        return x + self.get_buffer("table")[: x.size(1)].to(x.dtype)


class TorchModel(nn.Module):
    """Embedding, positions, `nn.Transformer`, and logits by the same matrix."""

    def __init__(self, config: TransformerConfig) -> None:
        """Make the parts in the sizes of a config."""
        super().__init__()
        c = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.positions = Sinusoids(c.d_model, c.max_length)
        sizes = c.d_model, c.num_heads, c.num_layers, c.num_layers, c.d_ff, c.dropout
        self.stacks = nn.Transformer(*sizes, c.activation, batch_first=True)

    def forward(
        self, src: Int[Tensor, "batch src_tokens"], tgt: Int[Tensor, "batch tgt_tokens"]
    ) -> Float[Tensor, "batch tgt_tokens vocab"]:
        """Return the logits of the next tokens; True in a mask means hidden."""
        hidden_future = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).triu(1)
        output: Tensor = self.stacks(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=hidden_future,
            src_key_padding_mask=src == 0,
            tgt_key_padding_mask=tgt == 0,
            memory_key_padding_mask=src == 0,
        )
        return output @ self.embedding.weight.T

    def embed(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens d_model"]:
        """Return scaled embeddings plus positions."""
        scaled = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        embedded: Tensor = self.positions(scaled)
        return embedded


def our_names(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights of `nn.Transformer` under the names of this package."""
    ours = {}
    for name, tensor in theirs.items():
        for old, new in NAMES.items():
            name = name.replace(old, new)
        if "in_proj_" in name:  # queries, keys, and values, one above the other
            parts = ("query", "key", "value")
            for part, rows in zip(parts, tensor.chunk(3), strict=True):
                ours[name.replace("in_proj_", f"to_{part}.")] = rows
        else:
            ours[name] = tensor
    return ours


def randomize(model: nn.Module, seed: int) -> None:
    """Add noise to all parameters, so that no bias is 0 and no gain is 1."""
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=rng, dtype=torch.float64)
            parameter.add_(0.1 * noise)


def empty_copy(config: TransformerConfig) -> Transformer:
    """Return a model of this package with PyTorch's final norms, and sinusoids in float64."""
    model = Transformer(config).double().eval()
    for stack in (model.encoder, model.decoder):
        stack.final_norm = LayerNorm(config.d_model).double()
    table = Sinusoids(config.d_model, config.max_length).get_buffer("table")
    model.positions.get_buffer("table").copy_(table)  # the module's own is rounded to float32
    return model


def pair(config: TransformerConfig, seed: int) -> tuple[Transformer, TorchModel]:
    """Return one model twice, ours and PyTorch's, with the same random weights, in float64."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        theirs = TorchModel(config).double().eval()
        ours = empty_copy(config)
    randomize(theirs, seed)
    ours.load_state_dict(our_names(theirs.state_dict()))
    return ours, theirs
