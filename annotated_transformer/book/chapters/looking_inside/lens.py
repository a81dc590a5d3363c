"""The logit lens: the next-token prediction that each depth of the decoder would make."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.model.decoder import decoder_layers
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.masks import decoder_mask, padding_mask
from annotated_transformer.model.transformer import Transformer


def logit_lens(
    model: Transformer,
    src: Int[Tensor, "batch src_tokens"],
    decoder_input: Int[Tensor, "batch tgt_tokens"],
) -> Float[Tensor, "depths batch tgt_tokens vocab"]:
    """Return the logits of the decoder's input and of each layer's output, bottom up.

    The last are the model's own. In pre-norm, the final norm is applied at each depth.
    """
    pad_id = model.config.pad_id
    seen, mask = padding_mask(src, pad_id), decoder_mask(decoder_input, pad_id)
    with evaluating(model):
        memory, x = model.encode(src, seen), model.embed(decoder_input)
        logits = [model.logits(model.decoder.final_norm(x))]
        for layer in decoder_layers(model.decoder):
            x = layer(x, memory, mask, seen)
            logits.append(model.logits(model.decoder.final_norm(x)))
    return torch.stack(logits)
