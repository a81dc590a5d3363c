"""Activation patching: replace one vector of one run by that of another, and see what comes back."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.book.toy.probe import layer_outputs
from annotated_transformer.model.masks import decoder_mask, padding_mask
from annotated_transformer.model.transformer import Transformer


@torch.no_grad()
def restored(
    model: Transformer,
    clean: Int[Tensor, "1 tokens"],
    corrupted: Int[Tensor, "1 tokens"],
    words: tuple[int, int],
) -> Float[Tensor, "depths tokens"]:
    """Return the fraction of the contrast between `words` that each patch restores.

    Depth 0 replaces an input of the encoder, depth l an output of its layer l.

    Raises:
        ValueError: If the two sentences have the same contrast.
    """
    encoder, pad_id = model.encoder, model.config.pad_id
    seen, start = padding_mask(clean, pad_id), torch.full((1, 1), model.config.bos_id)

    def contrast(x: Tensor, depth: int) -> Tensor:
        """Go on from a depth, and return the difference of the two words' logits."""
        for layer in encoder.layers[depth:]:
            x = layer(x)
        memory = encoder.final_norm(x)
        hidden = model.decode(start, memory, decoder_mask(start, pad_id), seen)
        first, second = model.logits(hidden)[0, 0, list(words)]
        return first - second

    run = layer_outputs(encoder, model.embed(clean))
    other = layer_outputs(encoder, model.embed(corrupted))
    high, low = contrast(run[0], 0), contrast(other[0], 0)
    if torch.isclose(high, low):  # rounding is not a contrast
        raise ValueError("both sentences have the same contrast; take other words")
    shares = run.new_empty(len(run), run.size(2))
    for depth in range(len(run)):
        for token in range(run.size(2)):
            x = other[depth].clone()
            x[0, token] = run[depth, 0, token]
            shares[depth, token] = (contrast(x, depth) - low) / (high - low)
    return shares
