"""What an update of the weights goes down: the chapter on training."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.fast.loss import loss_in_chunks
from annotated_transformer.fast.modules import HiddenStates
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.loss import label_smoothed_cross_entropy
from annotated_transformer.training.validation import check_padding


def batch_loss(
    model: Transformer,
    batch: Batch,
    config: TrainingConfig,
    *,
    net: nn.Module | None = None,
) -> Float[Tensor, ""]:
    """Return the loss that `config` asks for, on the model's device.

    `net` computes as the model, or as its `HiddenStates` where `config.fast`.

    Raises:
        ValueError: If the batch is padded with another id than the model's.
    """
    check_padding(model, batch)
    weight, smoothing = model.embedding.weight, config.label_smoothing
    net = net or (HiddenStates(model) if config.fast else model)
    batch = batch.to(weight.device)
    with torch.autocast(weight.device.type, torch.bfloat16, enabled=config.bf16):
        output: Tensor = net(batch.src, batch.decoder_input)
    if not config.fast:
        return label_smoothed_cross_entropy(output, batch.labels, smoothing=smoothing, pad_id=batch.pad_id)
    real = batch.labels != batch.pad_id
    dtype = torch.bfloat16 if config.bf16 else weight.dtype
    return loss_in_chunks(output[real], weight, batch.labels[real], smoothing=smoothing, dtype=dtype)
