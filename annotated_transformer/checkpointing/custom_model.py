"""Refusal of models that a folder cannot hold: it stores weights and a config, but no code."""

import torch
from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.plain import differences
from annotated_transformer.model.transformer import Transformer


def new_model(config: TransformerConfig) -> Transformer:
    """Return a new model without changing the state of PyTorch's random generator."""
    with torch.random.fork_rng(devices=[]):
        return Transformer(config)


def refuse_custom_model(model: nn.Module) -> None:
    """Refuse a model that differs from `Transformer(model.config)` in more than its weights.

    Raises:
        TypeError: If the model is not a `Transformer`, for example because `torch.compile` wrapped it.
        ValueError: If a module is of a different class, has a different setting, such as the number of
            heads, or has a method that was replaced on the instance.
    """
    if not isinstance(model, Transformer):
        raise TypeError(f"the model is of type {type(model).__name__}; give the Transformer inside it")
    for name, difference in differences(model, new_model(model.config)):
        raise ValueError(
            f"{'model' + '.' * bool(name) + name} {difference}, which loading could not restore: a model "
            f"folder holds the config and the weights; change the config, or save model.state_dict() "
            f"and keep your code"
        )
