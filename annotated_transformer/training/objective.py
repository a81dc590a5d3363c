"""The training loss of a batch, plain or fast: the only place that chooses between the two."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.fast.loss import FastLoss
from annotated_transformer.fast.memory import keep_freed_memory
from annotated_transformer.fast.modules import fast_modules
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.loss import label_smoothed_cross_entropy
from annotated_transformer.training.validation import check_padding


class PlainLoss(nn.Module):
    """The label-smoothed cross-entropy of a model (section 5.4), computed from all of its logits."""

    def __init__(self, model: Transformer, *, smoothing: float, bf16: bool) -> None:
        """Keep the model; `bf16` computes its matrix products in bfloat16."""
        super().__init__()
        self.model, self.smoothing, self.bf16 = model, smoothing, bf16

    def forward(
        self,
        src: Int[Tensor, "batch src_tokens"],
        decoder_input: Int[Tensor, "batch label_tokens"],
        labels: Int[Tensor, "batch label_tokens"],
    ) -> Float[Tensor, ""]:
        """Return the mean over the labels that are not padding, in nats."""
        with torch.autocast(src.device.type, torch.bfloat16, enabled=self.bf16):
            logits = self.model(src, decoder_input)
        pad_id = self.model.config.pad_id
        return label_smoothed_cross_entropy(logits, labels, smoothing=self.smoothing, pad_id=pad_id)


@contextmanager
def training_loss(model: Transformer, config: TrainingConfig) -> Iterator[PlainLoss | FastLoss]:
    """Yield the loss that `config` asks for: `FastLoss` on fast modules, or `PlainLoss`.

    With bfloat16, warn if the CPU probably has to emulate it.

    Raises:
        ValueError: If `config.fast` is set and the model does not compute its logits as `FastLoss` does.
    """
    on_cpu = model.embedding.weight.device.type == "cpu"
    if config.bf16 and on_cpu and torch.backends.cpu.get_cpu_capability() == "AVX2":
        warnings.warn(
            "PyTorch finds no AVX-512 instructions on this CPU, so it probably emulates bfloat16, and "
            "training may take ten times as long as in float32; leave out --bf16 (bf16=True)",
            stacklevel=3,  # the `with` statement
        )
    if not config.fast:
        yield PlainLoss(model, smoothing=config.label_smoothing, bf16=config.bf16)
        return
    loss = FastLoss(model, smoothing=config.label_smoothing, bf16=config.bf16)
    keep_freed_memory()
    with fast_modules(model):
        yield loss


def batch_loss(objective: nn.Module, batch: Batch, model: Transformer) -> Float[Tensor, ""]:
    """Return the loss of a batch on the model's device.

    `objective` is the module from `training_loss`, which may be wrapped in DDP.

    Raises:
        ValueError: If the batch's padding id is not the model's.
    """
    check_padding(model, batch)
    batch = batch.to(model.embedding.weight.device)
    loss: Tensor = objective(batch.src, batch.decoder_input, batch.labels)
    return loss
