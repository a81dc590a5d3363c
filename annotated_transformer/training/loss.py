"""The loss of a batch, in training and in validation.

Cross-entropy with label smoothing is section 5.4 of the paper: the chapter on training. A `TrainableModel`
computes its own loss.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.id_checks import checked_ids
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.trainable import AnyModel, TrainableModel, is_transformer
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch


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
        )  # fmt: skip
    real = labels != pad_id
    if not real.any():
        raise ValueError(
            f"all {labels.numel()} labels are padding (pad_id={pad_id}); "
            f"give at least one other"
        )  # fmt: skip
    dtype = torch.promote_types(logits.dtype, torch.float32)
    log_probs = logits.log_softmax(dim=-1, dtype=dtype)
    of_label = log_probs.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    losses = -(1 - smoothing) * of_label - smoothing * log_probs.mean(dim=-1)
    # selecting numbers is cheap; selecting rows of logits would copy them
    return losses[real].mean()


class PlainLoss(nn.Module):
    """The label-smoothed cross-entropy of a model (section 5.4), computed from all of its logits."""

    def __init__(self, model: Transformer, *, smoothing: float, bf16: bool) -> None:
        """Keep the model; `bf16` computes its matrix products in bfloat16."""
        super().__init__()
        self.model, self.bf16 = model, bf16
        self.settings: Any = {"smoothing": smoothing, "pad_id": model.config.pad_id}

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """Return the mean over the labels that are not padding, in nats."""
        with checked_ids(self.model, batch.src, batch.decoder_input):
            batch = batch.to(device := _device(self.model))
            with torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
                logits = self.model(batch.src, batch.decoder_input)
        return label_smoothed_cross_entropy(logits, batch.labels, **self.settings)


class OwnLoss(nn.Module):
    """The loss that a `TrainableModel` computes, as a module that DDP can wrap."""

    def __init__(self, model: TrainableModel, *, smoothing: float, bf16: bool) -> None:
        """Keep the model; `bf16` computes its matrix products in bfloat16."""
        super().__init__()
        self.model, self.smoothing, self.bf16 = model, smoothing, bf16

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """Return the mean over the labels of the batch, in nats."""
        batch = batch.to(_device(self.model))
        with torch.autocast(batch.src.device.type, torch.bfloat16, enabled=self.bf16):
            return self.model.loss(batch, smoothing=self.smoothing)


def plain_loss(model: AnyModel, *, smoothing: float, bf16: bool) -> PlainLoss | OwnLoss:
    """Return the loss of the model's logits or, if it is a `TrainableModel`, its own."""
    if is_transformer(model):
        return PlainLoss(model, smoothing=smoothing, bf16=bf16)
    return OwnLoss(model, smoothing=smoothing, bf16=bf16)


def batch_loss(objective: nn.Module, batch: Batch, model: AnyModel) -> Float[Tensor, ""]:
    """Return the loss of a batch, which is moved to the model's device.

    `objective` is a module such as `PlainLoss`, which may be wrapped in DDP.
    """
    if batch.pad_id != model.config.pad_id:
        raise ValueError(
            f"the batch is padded with {batch.pad_id}, and the model has pad_id={model.config.pad_id}; "
            f"give make_batches that pad_id"
        )
    loss: Tensor = objective(batch)
    return loss


@refuses_other_kinds
def mean_loss(model: AnyModel, batches: list[Batch]) -> float:
    """Return the cross-entropy per label, in nats, without smoothing and dropout."""
    objective = plain_loss(model, smoothing=0.0, bf16=False)
    with evaluating(model):
        losses = [batch_loss(objective, batch, model).item() * batch.num_labels for batch in batches]
    return sum(losses) / sum(batch.num_labels for batch in batches)


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
