"""`torch.nn.Transformer` as our `Transformer`, and the reverse: the same outputs and gradients.

PyTorch's module has the layers of encoder and decoder. Embeddings, positions, masks, and logits are its
caller's; in ours, they are part of the model. Its attention masks are the opposite of ours.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.interop.exported import plain_transformer, refuse_other_widths, warn_of_edited_code
from annotated_transformer.interop.torch_checks import ACTIVATIONS, read_shape, refuse_differences
from annotated_transformer.interop.torch_weights import Pair, parameter_pairs
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.model.transformer import Transformer


@refuses_other_kinds
def to_torch(model: Transformer) -> nn.Transformer:
    """Return PyTorch's module with copies of the weights of encoder and decoder, for batches first.

    It takes embedded tokens and returns hidden states. This computes the logits of `model(src, tgt)`::

        hidden = to_torch(model)(model.embed(src), model.embed(tgt), **torch_masks(src, tgt))
        logits = model.logits(hidden)

    Where our attention has no biases, its biases are 0. Its dropout is where ours is: on sub-layer outputs,
    not on attention weights or inside the feed-forward networks.

    Raises:
        ValueError: If a part cannot be carried over; the message names it. PyTorch has no widths `d_k` and
            `d_v` other than d_model / num_heads.
    """
    model = plain_transformer(model, "nn.Transformer")
    refuse_other_widths(model.config, "nn.Transformer")
    config = model.config
    with torch.random.fork_rng(devices=[]):  # its initialization draws random numbers
        theirs = _new_module(config).to(model.embedding.weight)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.zero_()  # those that ours lacks, the biases of attention
        for their_parameter, ours in parameter_pairs(model, theirs):
            parts = [part for part in ours if part is not None]
            if parts and their_parameter is not None:
                their_parameter.copy_(torch.cat(parts))
    return theirs.train(model.training)


@refuses_other_kinds
def from_torch(
    module: nn.Transformer,
    embedding: nn.Embedding | Float[Tensor, "vocab d_model"],
    *,
    output: nn.Linear | None = None,
    positions: Float[Tensor, "max_length d_model"] | None = None,
    max_length: int = 1024,
    attention_bias: bool | None = None,
    pad_id: int = 0,
    bos_id: int = 1,
    eos_id: int = 2,
) -> Transformer:
    r"""Return our model with copies of the weights of PyTorch's.

    Ours multiplies embeddings by $\sqrt{d_\text{model}}$. It has no dropout on attention weights and inside
    the feed-forward networks, so with dropout it trains differently.

    Args:
        module: An `nn.Transformer`, with either order of norms, with or without final norms.
        embedding: The matrix that embeds source and target and, transposed, gives the logits.
        output: The layer that computes the logits; its weight must be the embedding. Its bias is kept.
        positions: A table of learned positions (default: sinusoids).
        max_length: Number of positions, if they are sinusoids.
        attention_bias: Whether our attention has biases (default: if any of the module's is not 0).
        pad_id: Id of padding.
        bos_id: Id at the beginning of every target.
        eos_id: Id at the end of every sentence.

    Raises:
        ValueError: If a part cannot be carried over; the message names it.
    """
    shape = read_shape(module)
    matrix = embedding.weight if isinstance(embedding, nn.Embedding) else embedding
    _refuse_other_width("the embedding", matrix, shape["d_model"])
    if positions is not None:
        _refuse_other_width("positions", positions, shape["d_model"])
    if output is not None and not torch.equal(output.weight, matrix):
        raise ValueError(
            "output.weight differs from the embedding, which cannot be carried over: from_torch makes models "
            "with one matrix for both (section 3.4 of the paper); train with output.weight = embedding.weight"
        )
    names = ("in_proj_bias", "out_proj.bias")
    biased = any(bool(x.any()) for name, x in module.named_parameters() if name.endswith(names))
    if biased and attention_bias is False:
        raise ValueError("attention_bias=False would lose biases of attention that are not 0; leave it out")
    config = TransformerConfig(
        vocab_size=len(matrix),
        max_length=max_length if positions is None else len(positions),
        positions="sinusoidal" if positions is None else "learned",
        attention_bias=biased if attention_bias is None else attention_bias,
        output_bias=output is not None and output.bias is not None,
        pad_id=pad_id,
        bos_id=bos_id,
        eos_id=eos_id,
        **shape,
    )
    with torch.random.fork_rng(devices=[]):
        refuse_differences(module, _new_module(config))
        model = Transformer(config).to(matrix)
    others: list[Pair] = [
        (matrix, [model.embedding.weight]),
        (positions, [*model.positions.parameters()]),
        (None if output is None else output.bias, [model.output_bias]),
    ]
    with torch.no_grad():
        for theirs, ours in [*parameter_pairs(model, module), *others]:
            _copy(theirs, ours)
    warn_of_edited_code(model, "nn.Transformer")
    return model.train(module.training)


@refuses_other_kinds
def torch_masks(
    src: Int[Tensor, "batch src_tokens"], tgt: Int[Tensor, "batch tgt_tokens"], pad_id: int = 0
) -> dict[str, Bool[Tensor, "..."]]:
    """Return the masks of padding and of later tokens, as arguments of `nn.Transformer`.

    In PyTorch, True means *must not attend*.
    """
    src_padding = src == pad_id
    return {
        "tgt_mask": ~causal_mask(tgt.size(1), tgt.device),
        "src_key_padding_mask": src_padding,
        "memory_key_padding_mask": src_padding,
        "tgt_key_padding_mask": tgt == pad_id,
    }


def _copy(theirs: Tensor | None, ours: Sequence[Tensor | None]) -> None:
    """Copy one of PyTorch's parameters into those of ours that it stacks; a missing bias is 0."""
    parts = [None] * len(ours) if theirs is None else theirs.chunk(len(ours)) if ours else []
    for part, parameter in zip(parts, ours, strict=True):
        if parameter is not None:
            parameter.copy_(torch.zeros_like(parameter) if part is None else part)


def _new_module(config: TransformerConfig) -> nn.Transformer:
    shared: dict[str, Any] = {
        "d_model": config.d_model,
        "nhead": config.num_heads,
        "dim_feedforward": config.d_ff,
        "dropout": config.dropout,
        "activation": ACTIVATIONS[config.activation],
        "norm_first": config.norm == "pre",
        "batch_first": True,
    }
    layers = nn.TransformerEncoderLayer(**shared), nn.TransformerDecoderLayer(**shared)
    for layer in layers:
        layer.dropout.p = 0.0  # inside the feed-forward network
        for module in layer.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0  # on the weights
    norms = [nn.LayerNorm(config.d_model) if config.has_final_norm else None for _ in layers]
    encoder = nn.TransformerEncoder(layers[0], config.num_layers, norms[0], enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(layers[1], config.num_layers, norms[1])
    return nn.Transformer(
        config.d_model, config.num_heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )


def _refuse_other_width(name: str, matrix: Tensor, d_model: int) -> None:
    if matrix.ndim != 2 or matrix.size(1) != d_model:
        raise ValueError(
            f"the shape of {name} is {tuple(matrix.shape)}, and the module has d_model={d_model}; give a "
            f"matrix with {d_model} columns"
        )
