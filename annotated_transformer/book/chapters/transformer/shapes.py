"""The shape of each tensor on the way from token ids to logits: chapter 14 of the book."""

from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

from jaxtyping import Int
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.plain import unwrap
from annotated_transformer.model.transformer import Transformer


class Station(NamedTuple):
    """A step of the forward pass: which call of which module, and the axes of its output.

    The axes are keys of `axis_sizes`; the batch axis, which comes first, is left out.
    """

    what: str
    module: str
    axes: tuple[str, ...]
    call: int = 0  # the embedding runs twice: for the source, then for the target


ENCODER_LAYER, DECODER_LAYER = "encoder.layers.0", "decoder.layers.0"
SELF, MASKED = f"{ENCODER_LAYER}.self_attention", f"{DECODER_LAYER}.self_attention"
CROSS = f"{DECODER_LAYER}.cross_attention"
STATIONS = (
    Station("source embeddings", "embedding", ("n_src", "d_model")),
    Station("plus positions", "positions", ("n_src", "d_model")),
    Station("queries, all heads", f"{SELF}.to_query", ("n_src", "h d_k")),
    Station("self-attention weights", f"{SELF}.attention.weights", ("h", "n_src", "n_src")),
    Station("heads", f"{SELF}.attention", ("h", "n_src", "d_v")),
    Station("self-attention", SELF, ("n_src", "d_model")),
    Station("after Add & Norm", f"{ENCODER_LAYER}.add_norm_1", ("n_src", "d_model")),
    Station("inside the feed-forward network", f"{ENCODER_LAYER}.feed_forward.expand", ("n_src", "d_ff")),
    Station("encoder layer 1", ENCODER_LAYER, ("n_src", "d_model")),
    Station("z, the memory", "encoder", ("n_src", "d_model")),
    Station("target embeddings", "embedding", ("n_tgt", "d_model"), 1),
    Station("plus positions", "positions", ("n_tgt", "d_model"), 1),
    Station("masked self-attention weights", f"{MASKED}.attention.weights", ("h", "n_tgt", "n_tgt")),
    Station("cross-attention: queries", f"{CROSS}.to_query", ("n_tgt", "h d_k")),
    Station("cross-attention: keys", f"{CROSS}.to_key", ("n_src", "h d_k")),
    Station("cross-attention weights", f"{CROSS}.attention.weights", ("h", "n_tgt", "n_src")),
    Station("cross-attention", CROSS, ("n_tgt", "d_model")),
    Station("decoder layer 1", DECODER_LAYER, ("n_tgt", "d_model")),
    Station("decoder output", "decoder", ("n_tgt", "d_model")),
    Station("logits", "", ("n_tgt", "vocab")),
)
"""The shape table of the whole model, in the order of its computation."""


def axis_sizes(config: TransformerConfig, *, n_src: int, n_tgt: int) -> dict[str, int]:
    """Return the size of each axis of `STATIONS` for the numbers of source and target tokens."""
    d_head = config.d_model // config.num_heads
    d_k = d_head if config.d_k is None else config.d_k
    d_v = d_head if config.d_v is None else config.d_v
    return {
        "n_src": n_src,
        "n_tgt": n_tgt,
        "h": config.num_heads,
        "d_k": d_k,
        "d_v": d_v,
        "h d_k": config.num_heads * d_k,
        "d_model": config.d_model,
        "d_ff": config.d_ff,
        "vocab": config.vocab_size,
    }


def record_outputs(
    model: Transformer,
    src: Int[Tensor, "batch src_tokens"],
    tgt: Int[Tensor, "batch tgt_tokens"],
) -> dict[str, list[Tensor]]:
    """Return the output of each call of each module in one pass, by its name in `model.named_modules()`.

    The model itself has the name "". Dropout is off.
    """
    model = unwrap(model)
    outputs: dict[str, list[Tensor]] = {}

    def keep(name: str, module: nn.Module, args: object, output: Tensor) -> None:
        outputs.setdefault(name, []).append(output.detach())

    with ExitStack() as hooks, evaluating(model):
        for name, module in model.named_modules():
            hooks.enter_context(module.register_forward_hook(partial(keep, name)))
        model(src, tgt)
    return outputs
