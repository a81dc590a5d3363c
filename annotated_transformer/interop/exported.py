"""Which of our models other libraries can hold: plain ones; and what an export says about its model."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from annotated_transformer.checkpointing.checkpoint import refuse_custom_model
from annotated_transformer.model.plain import unwrap
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.registry import code_name, registered_attentions
from annotated_transformer.text.sentence_pairs import Languages


def plain_transformer(model: nn.Module, library: str) -> Transformer:
    """Return the model, or the one that `torch.compile` wrapped, if `library` can compute what it does."""
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


def stored_languages(settings: Mapping[str, Any], key: str) -> Languages | None:
    """Return the languages in the settings of an export, or None; `key` has a place for source or target."""
    source, target = (settings.get(key.format(name)) for name in Languages._fields)
    return Languages(source, target) if source and target else None
