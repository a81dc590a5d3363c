"""Cross-entropy with label smoothing: section 5.4 of the paper, the chapter on training."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.kinds import refuses_other_kinds


@refuses_other_kinds
def label_smoothed_cross_entropy(
    logits: Float[Tensor, "*batch vocab"],
    labels: Int[Tensor, "*batch"],
    *,
    smoothing: float,
    pad_id: int,
) -> Float[Tensor, ""]:
    r"""Return $-\sum_k q_k \log p_k$ in nats, the mean over all labels but `pad_id`.

    $p$ is the softmax of the logits; $q_k$ is $1 - \epsilon + \epsilon / V$ for the
    label and $\epsilon / V$ for each other of the $V$ classes, padding among them.
    With $\epsilon > 0$ this loss has a floor above zero, so its exponential is no
    perplexity. Logits of half precision are summed in float32.
    """
    if not 0 <= smoothing < 1:
        raise ValueError(
            f"smoothing={smoothing} is not a probability; give 0 ≤ smoothing < 1"
        )
    real = labels != pad_id
    if not real.any():
        raise ValueError(
            f"all {labels.numel()} labels are padding (pad_id={pad_id}); "
            f"give at least one other"
        )
    dtype = torch.promote_types(logits.dtype, torch.float32)
    log_probs = logits.log_softmax(dim=-1, dtype=dtype)
    of_label = log_probs.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    losses = -(1 - smoothing) * of_label - smoothing * log_probs.mean(dim=-1)
    # selecting numbers is cheap; selecting rows of logits would copy them
    return losses[real].mean()
