"""The loss of a batch, in training and in validation; a `TrainableModel` computes its own."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.id_checks import checked_ids
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.loss import label_smoothed_cross_entropy
from annotated_transformer.model.trainable import AnyModel, TrainableModel, is_transformer
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch


class PlainLoss(nn.Module):
    """The label-smoothed cross-entropy of a model (section 5.4), computed from all of its logits."""

    def __init__(self, model: Transformer, *, smoothing: float, bf16: bool) -> None:
        """Keep the model; `bf16` computes its matrix products in bfloat16."""
        super().__init__()
        self.model, self.bf16 = model, bf16
        self.settings: Any = {"smoothing": smoothing, "pad_id": model.config.pad_id}

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """Return the mean over the labels that are not padding, in nats."""
        src, tgt = checked_ids(self.model, batch.src, batch.decoder_input)
        with torch.autocast(src.device.type, torch.bfloat16, enabled=self.bf16):
            logits = self.model(src, tgt)
        labels = batch.labels.to(src.device)
        return label_smoothed_cross_entropy(logits, labels, **self.settings)


class OwnLoss(nn.Module):
    """The loss that a `TrainableModel` computes, as a module that DDP can wrap."""

    def __init__(self, model: TrainableModel, *, smoothing: float, bf16: bool) -> None:
        """Keep the model; `bf16` computes its matrix products in bfloat16."""
        super().__init__()
        self.model, self.smoothing, self.bf16 = model, smoothing, bf16

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """Return the mean over the labels of the batch, in nats."""
        batch = batch.to(next(self.model.parameters()).device)
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
