"""One update of training, as the chapter shows it: without what `train` adds for long runs."""

from typing import Any

import torch

from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch
from annotated_transformer.training.loss import label_smoothed_cross_entropy
from annotated_transformer.training.schedule import learning_rate


def one_update(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    t: int,
    **schedule: Any,
) -> float:
    """Make update `t` = 1, 2, … of the weights, and return the loss before it.

    `schedule` has the other arguments of `learning_rate`.
    """
    rate = learning_rate(t, d_model=model.config.d_model, **schedule)
    optimizer.param_groups[0]["lr"] = rate  # 1. the rate of this update
    optimizer.zero_grad()  # 2. forget old gradients
    logits = model(batch.src, batch.decoder_input)  # 3. predict each label
    loss = label_smoothed_cross_entropy(  # 4. compare with the labels
        logits, batch.labels, smoothing=0.1, pad_id=0
    )
    loss.backward()  # 5. a gradient for each weight
    optimizer.step()  # 6. Adam moves the weights
    return loss.item()
