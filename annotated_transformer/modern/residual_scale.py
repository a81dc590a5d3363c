r"""GPT-2's initialization: the matrices that write to the residual stream are scaled by $1/\sqrt{N}$.

Radford et al., *Language Models are Unsupervised Multitask Learners*, 2019, section 2.3: "We scale the
weights of residual layers at initialization by a factor of $1/\sqrt{N}$ where $N$ is the number of
residual layers." A stack of $L$ encoder layers has $N = 2L$.
"""

import torch

from annotated_transformer.model.decoder import Decoder
from annotated_transformer.model.encoder import Encoder
from annotated_transformer.model.normalization import AddNorm

LAST = ("to_output", "contract")  # of attention, and of the feed-forward network


@torch.no_grad()
def scale_residual_projections(stack: Encoder | Decoder) -> float:
    r"""Multiply each sub-layer's last matrix by $1/\sqrt{N}$, and return this factor.

    If the $N$ sub-layers add independent outputs of equal variance, their sum then has
    the variance of one. It works in place: call it once, after `initialize`. It is for
    pre-norm: post-norm scales each sum anyway.
    """
    additions = sum(isinstance(module, AddNorm) for module in stack.modules())
    factor: float = additions**-0.5
    for name, module in stack.named_modules():
        if name.rpartition(".")[2] in LAST:
            module.weight.mul_(factor)
    return factor
