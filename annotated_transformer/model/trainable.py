"""The base class of models other than `Transformer`, such as a language model or a classifier.

`train`, `save`, `load` and `sample` take them. Such a model is built from its config alone.
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.id_checks import check_step
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.model.transformer import is_transformer as is_transformer


@runtime_checkable
class StepDecoder(Protocol):
    """Targets, one per row, that start empty and grow by one token per step."""

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token."""

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""


class TrainableModel(nn.Module):
    """The base class: a subclass sets `config` in its `__init__(self, config)`, and defines `loss`.

    Only `sample`, `greedy_search`, and `beam_search` need `start`.

    Attributes:
        config: A frozen dataclass, such as a `TransformerConfig`, with `vocab_size`, `max_length`, `d_model`,
            `pad_id`, `bos_id` and `eos_id`. What `save` writes is its fields: numbers, strings, or None.
        config_type: The type of `config`.
        batch_type: The type of the batches that `loss` receives; `None` means `text.batching.Batch`, whose
            labels are the tokens of the targets, and `ClassBatch` has one label per row.
    """

    config: Any
    config_type: ClassVar[type] = TransformerConfig
    batch_type: ClassVar[Any] = None

    def loss(self, batch: Any, *, smoothing: float | int) -> Float[Tensor, ""]:
        """Return the mean loss over the labels of a batch, in nats.

        `smoothing` is that of `TrainingConfig` in training, and 0 in validation. The pairs of a language
        model have no source: `([], [BOS, …, EOS])`. Those of a classifier are `([token, …], [class])`.
        """
        raise NotImplementedError(_missing(self, "loss(batch, *, smoothing)", "train"))

    def start(
        self, src: Int[Tensor, "batch src_tokens"]
    ) -> tuple[StepDecoder, Int[Tensor, "batch tgt_tokens"]]:
        """Return what computes the steps of decoding, and the prompt: how each target begins.

        A prompt begins with BOS; a shorter one is padded at its end. The prompts of a language model are
        `src` itself. Those of a model with an encoder are BOS alone.
        """
        raise NotImplementedError(_missing(self, "start(src)", "decoding"))


@refuses_other_kinds
class DecodeAgain:
    """Compute the logits of all tokens again at each step: a `StepDecoder` for a model without a cache."""

    def __init__(
        self, model: TrainableModel, src: Int[Tensor, "batch src_tokens"]
    ) -> None:
        """Start one empty target for each row of `src`; `model(ids)` returns logits for each token."""
        self.model, self.ids = model, src[:, :0]

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target, and return the logits of the next token."""
        check_step(
            tokens, len(self.ids), self.ids.size(1), self.model.config.max_length
        )
        return self.read(tokens[:, None])

    def read(self, ids: Int[Tensor, "rows tokens"]) -> Float[Tensor, "rows vocab"]:
        """Append several tokens to each target, and return the logits of the next token."""
        self.ids = torch.cat([self.ids, ids], dim=1)
        logits: Tensor = self.model(self.ids)
        return logits[:, -1]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        self.ids = self.ids[rows]


AnyModel = Transformer | TrainableModel


def _missing(model: nn.Module, method: str, what: str) -> str:
    name = type(model).__name__
    return f"{name} has no method {method}, which {what} needs; define it (see TrainableModel)"
