"""The accelerated loss of a training run: what `fast=True` asks for."""

from collections.abc import Iterator
from contextlib import contextmanager

from annotated_transformer.fast.loss import FastLoss
from annotated_transformer.fast.modules import fast_modules, keep_freed_memory
from annotated_transformer.fast.proof import refuse_other_loss
from annotated_transformer.model.plain import NotPlain, unwrap
from annotated_transformer.model.trainable import AnyModel, is_transformer
from annotated_transformer.training.distributed import ProcessGroup


@contextmanager
def fast_loss(model: AnyModel, group: ProcessGroup, *, smoothing: float, bf16: bool) -> Iterator[FastLoss]:
    """Yield the loss of a model, whose modules are the accelerated ones inside the context."""
    refusal = None
    if not is_transformer(model):
        name = type(unwrap(model)).__name__
        raise NotPlain(
            f"fast=True, and {name} computes its own loss; the fast one is that of a Transformer: "
            "leave it out"
        )
    model = unwrap(model)
    try:
        refuse_other_loss(model, smoothing=smoothing, bf16=bf16)
    except NotPlain as error:
        refusal = error
    if group.any(refusal is not None):
        raise refusal or NotPlain("another process refuses fast=True; see its message")
    keep_freed_memory()
    with fast_modules(model):
        yield FastLoss(model, smoothing=smoothing, bf16=bf16)
