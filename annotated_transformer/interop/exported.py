"""Which of our models other libraries can hold: plain ones; and what an export says about its model."""

import copy
import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from annotated_transformer.calls import warn
from annotated_transformer.checkpointing.checkpoint import (
    CONFIG,
    WEIGHTS,
    check_tokenizer,
    refuse_custom_model,
)
from annotated_transformer.config import TransformerConfig
from annotated_transformer.interop.numpy_model import NumpyModel
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.plain import plain_name, refuse_hooks, unwrap
from annotated_transformer.model.positional_encoding import sinusoids
from annotated_transformer.model.trainable import AnyModel
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.registry import code_name, registered_attentions
from annotated_transformer.text.batching import pad
from annotated_transformer.text.sentence_pairs import Languages
from annotated_transformer.text.tokenizer import Tokenizer

LIMIT = 1e-9  # in float64, where the difference is about 1e-15


def plain_transformer(model: Transformer, library: str) -> Transformer:
    """Return the model, or the one that `torch.compile` wrapped, if `library` can compute what it does."""
    model = unwrap(model)
    refuse_undescribed(model, library)
    if (make := registered_attentions().get(model.config.attention)) is not None:
        raise ValueError(
            f"the model has attention={model.config.attention!r}, the code {code_name(make)}, which "
            f"{library} does not have; export a model with another attention"
        )
    warn_of_edited_code(model, library)
    return model


def exportable(model: Transformer, tokenizer: Tokenizer, folder: Path, library: str) -> Transformer:
    """Return the plain model that `library` gets, unless it has another tokenizer or would replace ours."""
    model = plain_transformer(model, library)
    check_tokenizer(model.config, tokenizer)
    ours = (folder / CONFIG).is_file() and (folder / WEIGHTS).is_file()
    if ours and "model_type" not in json.loads((folder / CONFIG).read_bytes()):  # as Marian's has
        raise ValueError(f"{folder} holds a model of this package, which would be lost; give another folder")
    return model


def refuse_undescribed(model: AnyModel, library: str) -> None:
    """Refuse a model that is more than its config and its weights."""
    refuse_hooks(unwrap(model), f"which {library} would not call; remove them")
    refuse_custom_model(model, f"which {library} does not have; export a model that its config describes")


def refuse_other_widths(config: TransformerConfig, library: str) -> None:
    """Refuse heads of another width than d_model / num_heads."""
    split = config.d_model / config.num_heads
    for name in ("d_k", "d_v"):
        if (width := getattr(config, name)) not in (None, split):
            raise ValueError(
                f"{name}={width!r} cannot be carried over: {library} has d_model / num_heads={split:g}"
            )


def warn_of_edited_code(model: Transformer, library: str) -> None:
    """Warn if our code computes other logits from the weights than `NumpyModel`: then it was edited.

    Both compute two sentences in float64, where rounding hides no formula.
    """
    config, copied = model.config, copy.deepcopy(model).cpu().double()
    if config.positions == "sinusoidal":
        copied.positions.table = sinusoids(config.max_length, config.d_model).double()
    state = {plain_name(name): x.numpy() for name, x in copied.state_dict().items()}
    ids = [id_ for id_ in range(config.vocab_size) if id_ != config.pad_id] * 5
    pairs = [(ids[:n][: config.max_length], ids[2:][:m][: config.max_length]) for n, m in ((5, 4), (3, 2))]
    src, tgt = (pad([pair[side] for pair in pairs], pad_id=config.pad_id) for side in (0, 1))
    with evaluating(copied):
        logits = copied(src, tgt).numpy()
    in_numpy = NumpyModel.from_weights(dataclasses.asdict(config), state)
    for pair, padded in zip(pairs, logits, strict=True):
        expected = in_numpy(*pair)
        gap = np.linalg.norm(padded[: len(expected)] - expected) / np.linalg.norm(expected)
        if not gap <= LIMIT and np.isfinite(expected).all():  # as they are not with weights that are NaN
            warn(
                f"{library} computes other logits than your model (by {gap:.1g} of their norm): a function "
                f"of annotated_transformer.model was edited, and {library} has its own"
            )
            return


def stored_languages(settings: Mapping[str, Any], key: str) -> Languages | None:
    """Return the languages in the settings of an export, or None; `key` has a place for source or target."""
    source, target = (settings.get(key.format(name)) for name in Languages._fields)
    return Languages(source, target) if source and target else None
