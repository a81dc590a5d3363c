"""Activation patching: replace one vector of one run by that of another, and see what comes back."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.book.toy.probe import layer_outputs
from annotated_transformer.model.encoder import Encoder
from annotated_transformer.model.masks import decoder_mask, padding_mask
from annotated_transformer.model.transformer import Transformer


@torch.no_grad()
def patched_outputs(
    encoder: Encoder, clean: Float[Tensor, "1 tokens d_model"], corrupted: Float[Tensor, "1 tokens d_model"]
) -> Float[Tensor, "depths tokens tokens d_model"]:
    """Return a stack's output on `corrupted`, after one vector was replaced by that of the `clean` run.

    Depth 0 replaces an input, depth l an output of layer l. At each depth, the n-th output is the one
    with the vector of token n replaced.
    """
    clean_run, run = layer_outputs(encoder, clean), layer_outputs(encoder, corrupted)
    outputs = []
    for depth in range(len(run)):
        here = torch.eye(run.size(2), dtype=torch.bool)[..., None]
        x = torch.where(here, clean_run[depth], run[depth])
        for layer in encoder.layers[depth:]:
            x = layer(x)
        outputs.append(encoder.final_norm(x))
    return torch.stack(outputs)


@torch.no_grad()
def first_word_contrast(
    model: Transformer, memory: Float[Tensor, "batch src_tokens d_model"], words: tuple[int, int]
) -> Float[Tensor, " batch"]:
    """Return the logit of the first of `words` minus that of the second, as the first target token."""
    start = torch.full((len(memory), 1), model.config.bos_id)
    seen = padding_mask(torch.full(memory.shape[:2], model.config.eos_id), model.config.pad_id)
    hidden = model.decode(start, memory, decoder_mask(start, model.config.pad_id), seen)
    logits = model.logits(hidden)[:, 0]
    return logits[:, words[0]] - logits[:, words[1]]


def restored(
    model: Transformer,
    clean: Int[Tensor, "1 tokens"],
    corrupted: Int[Tensor, "1 tokens"],
    words: tuple[int, int],
) -> Float[Tensor, "depths tokens"]:
    """Return the fraction of the contrast between `words` that each patch restores: 0 corrupted, 1 clean.

    Raises:
        ValueError: If the two sentences have the same contrast.
    """

    x, y = (model.embed(ids).detach() for ids in (clean, corrupted))
    outputs = patched_outputs(model.encoder, x, y)
    with torch.no_grad():
        ends = torch.cat([model.encoder(x), model.encoder(y)])
    high, low = first_word_contrast(model, ends, words)
    if torch.isclose(high, low):  # rounding is not a contrast
        raise ValueError(
            "both sentences have the same contrast, so nothing can be restored; take other words"
        )
    found = torch.stack([first_word_contrast(model, memory, words) for memory in outputs])
    return (found - low) / (high - low)
