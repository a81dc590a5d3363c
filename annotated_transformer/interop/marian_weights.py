"""Our weights under the names and in the order that Marian models have in `transformers`.

Their sinusoids are all sines, then all cosines; ours alternate. So the features of all hidden states are
permuted, which changes no result but the order in which sums are rounded.
"""

from typing import Any

import torch
from torch import Tensor

from annotated_transformer.config import TransformerConfig

SHARED, BIAS, OUTPUT = "model.shared.weight", "final_logits_bias", "lm_head.weight"
EMBEDDINGS = [f"model.{stack}.embed_tokens.weight" for stack in ("encoder", "decoder")]  # if nothing is tied
ATTENTION = {"to_query": "q_proj", "to_key": "k_proj", "to_value": "v_proj", "to_output": "out_proj"}
NETWORK = {"expand": "fc1", "contract": "fc2"}
NORMS = {
    "encoder": {"add_norm_1": "self_attn_layer_norm", "add_norm_2": "final_layer_norm"},
    "decoder": {
        "add_norm_1": "self_attn_layer_norm",
        "add_norm_2": "encoder_attn_layer_norm",
        "add_norm_3": "final_layer_norm",
    },
}
ATTENTIONS = {
    "encoder": {"self_attention": "self_attn"},
    "decoder": {"self_attention": "self_attn", "cross_attention": "encoder_attn"},
}
WRITES = ("to_output", "contract", "norm")  # what returns hidden states; the other matrices read them


def sines_then_cosines(d_model: int) -> Tensor:
    """Return which of our features each of Marian's is: those of sines first, then those of cosines."""
    return torch.arange(d_model).unflatten(0, (-1, 2)).T.flatten()


def module_names(num_layers: int) -> dict[str, str]:
    """Return Marian's name of each of our modules with weights; the embedding is not among them."""
    names = {}
    for stack in ("encoder", "decoder"):
        for i in range(num_layers):
            ours, theirs = f"{stack}.layers.{i}", f"model.{stack}.layers.{i}"
            for attention, their_attention in ATTENTIONS[stack].items():
                for part, name in ATTENTION.items():
                    names[f"{ours}.{attention}.{part}"] = f"{theirs}.{their_attention}.{name}"
            names |= {f"{ours}.feed_forward.{part}": f"{theirs}.{name}" for part, name in NETWORK.items()}
            names |= {f"{ours}.{part}.norm": f"{theirs}.{name}" for part, name in NORMS[stack].items()}
    return names


def to_marian_weights(state: dict[str, Tensor], config: TransformerConfig) -> dict[str, Tensor]:
    """Return Marian's tensors; biases that our model does not have are zeros.

    In `transformers`, no two matrices are tied if the output is not: encoder and decoder have copies of the
    embedding.
    """
    order = sines_then_cosines(config.d_model)
    matrix = state["embedding.weight"]
    zeros = matrix.new_zeros(config.vocab_size)
    tensors = {SHARED: matrix[:, order], BIAS: state.get("output_bias", zeros)[None]}
    if not config.tied_output:
        tensors |= {name: tensors[SHARED].clone() for name in EMBEDDINGS}
        tensors[OUTPUT] = state["output.weight"][:, order]
    for ours, theirs in module_names(config.num_layers).items():
        weight = state[f"{ours}.gain" if ours.endswith("norm") else f"{ours}.weight"]
        bias = state.get(f"{ours}.bias", matrix.new_zeros(len(weight)))
        tensors[f"{theirs}.weight"], tensors[f"{theirs}.bias"] = _permuted(ours, weight, bias, order)
    return {name: tensor.contiguous() for name, tensor in tensors.items()}


def from_marian_weights(
    tensors: dict[str, Tensor], config: TransformerConfig, rows: Tensor
) -> dict[str, Tensor]:
    """Return our tensors; `rows` has, for each of our ids, the one whose vector and bias it gets."""
    order = sines_then_cosines(config.d_model).argsort()
    state = {"embedding.weight": tensors[EMBEDDINGS[0]][rows][:, order]}
    if not config.tied_output:
        state["output.weight"] = tensors[OUTPUT][rows][:, order]
    if config.output_bias:
        state["output_bias"] = tensors[BIAS][0][rows]
    for ours, theirs in module_names(config.num_layers).items():
        weight, bias = _permuted(ours, tensors[f"{theirs}.weight"], tensors[f"{theirs}.bias"], order)
        state[f"{ours}.gain" if ours.endswith("norm") else f"{ours}.weight"] = weight
        if config.attention_bias or ".to_" not in ours:
            state[f"{ours}.bias"] = bias
    return {name: tensor.contiguous() for name, tensor in state.items()}


def has_attention_biases(tensors: dict[str, Tensor]) -> bool:
    """Return whether any bias of an attention is not 0."""
    biases = (tensor for name, tensor in tensors.items() if name.endswith("_proj.bias"))
    return any(bool(bias.any()) for bias in biases)


def _permuted(name: str, weight: Tensor, bias: Tensor, order: Tensor) -> tuple[Any, Any]:
    """Permute the features of hidden states, which a module reads or returns."""
    if name.endswith(WRITES):
        return weight[order], bias[order]
    return weight[:, order], bias
