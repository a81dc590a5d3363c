"""What an update of the weights goes down: the chapter on training."""

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch
from annotated_transformer.text.tokenizer import PAD_ID
from annotated_transformer.training.chunks import (
    Loss,
    LossInPlace,
    by_autograd,
    loss_in_chunks,
)
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.fast import HiddenStates
from annotated_transformer.training.loss import (
    label_smoothed_cross_entropy,
    r_drop,
    smoothed_losses_in_place,
)


def batch_loss(
    model: Transformer,
    batch: Batch,
    config: TrainingConfig,
    *,
    net: nn.Module | None = None,
) -> Float[Tensor, ""]:
    """Return the loss that `config` asks for, on the model's device.

    `net` computes as the model, or as its `HiddenStates` where `config.fast`.
    """
    weight, passes = model.embedding.weight, 2 if config.r_drop else 1
    net = net or (HiddenStates(model) if config.fast else model)
    batch = batch.to(weight.device)
    src, tgt = (ids.repeat(passes, 1) for ids in (batch.src, batch.decoder_input))
    with torch.autocast(weight.device.type, torch.bfloat16, enabled=config.bf16):
        output: Tensor = net(src, tgt)
    output = output.unflatten(0, (passes, -1))
    if not config.fast:
        return loss_of(config)(output, batch.labels)
    real = batch.labels != PAD_ID
    dtype = torch.bfloat16 if config.bf16 else weight.dtype
    in_place = loss_in_place(config)
    return loss_in_chunks(
        in_place, output[:, real], weight, batch.labels[real], dtype=dtype
    )


def loss_in_place(config: TrainingConfig) -> LossInPlace:
    """Return `loss_of(config)` as `loss_in_chunks` needs it."""
    if config.r_drop:
        return by_autograd(loss_of(config))

    def of_one_pass(logits: Tensor, labels: Tensor) -> Tensor:
        return smoothed_losses_in_place(logits[0], labels, smoothing=config.label_smoothing)

    return of_one_pass


def loss_of(config: TrainingConfig) -> Loss:
    """Return the loss of the scores of one or two passes."""
    if config.r_drop:
        return partial(
            r_drop, alpha=config.r_drop, smoothing=config.label_smoothing, pad_id=PAD_ID
        )

    def of_one_pass(logits: Tensor, labels: Tensor) -> Tensor:
        smoothing = config.label_smoothing
        return label_smoothed_cross_entropy(
            logits[0], labels, smoothing=smoothing, pad_id=PAD_ID
        )

    return of_one_pass
