"""Which of our models other libraries can hold: plain ones."""

from torch import nn

from annotated_transformer.checkpointing.checkpoint import refuse_custom_model
from annotated_transformer.model.plain import unwrap
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.registry import code_name, registered_attentions


def plain_transformer(model: nn.Module, library: str) -> Transformer:
    """Return the model, or the one that `torch.compile` wrapped, if `library` can compute what it does.

    Raises:
        TypeError: If it is not a `Transformer`.
        ValueError: If a part of it was changed, or its attention is of other code.
    """
    model = unwrap(model)
    if not isinstance(model, Transformer):
        raise TypeError(
            f"the model is of type {type(model).__name__}, and {library} takes a Transformer; "
            f"give one, or export your model with {library}'s own tools"
        )
    refuse_custom_model(model)
    if (make := registered_attentions().get(model.config.attention)) is not None:
        raise ValueError(
            f"the model has attention={model.config.attention!r}, the code {code_name(make)}, which "
            f"{library} does not have; export a model with another attention"
        )
    return model
