"""What the sessions of one training run must have in common: to change that, change this file.

A run directory refuses to resume a run with another identity, and the processes of a group compare theirs, by
`training_state_file.setting_changes`. If only the code was edited, the run resumes with a warning.
"""

import dataclasses
import inspect
from contextlib import suppress
from pathlib import Path

from torch import nn

from annotated_transformer.checkpointing.files import digest_tensors, fingerprint
from annotated_transformer.checkpointing.own_code import config_fields
from annotated_transformer.checkpointing.training_state_file import Mode
from annotated_transformer.model.plain import unwrap
from annotated_transformer.model.trainable import is_transformer
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.registry import code_name
from annotated_transformer.text.batching import Pair
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.tokenizer import Tokenizer
from annotated_transformer.training.config import LIMITS, Recipe, TrainingConfig
from annotated_transformer.training.metrics import Criterion
from annotated_transformer.training.training_state import TrainingState

PACKAGE = Path(__file__).parent.parent
FORMULAS = ("model/*.py", "modern/*.py", "training/loss.py", "training/schedule.py")


def training_identity(
    state: TrainingState,
    pairs: list[Pair],
    config: TrainingConfig,
    criterion: Criterion | None,
    mode: Mode,
) -> dict[str, object]:
    """Return what `train` compares: pairs, seed, processes, and all settings but the limits."""
    drawn = {"pairs": fingerprint(pairs), "seed": state.generator.initial_seed()}
    group: dict[str, object] = {"processes": state.group.world_size}
    if not is_transformer(state.model):
        group["model"] = type(unwrap(state.model)).__qualname__
    if criterion is not None:
        group["criterion"] = getattr(criterion, "__qualname__", type(criterion).__qualname__)
    if mode != "min":
        group["mode"] = mode
    settings = {name: value for name, value in dataclasses.asdict(config).items() if name not in LIMITS}
    return drawn | group | settings | config_fields(state.model.config)


def recipe_identity(
    recipe: Recipe, corpus: Corpus, tokenizer: Tokenizer, start: Transformer | None
) -> dict[str, object]:
    """Return what `train_from_recipe` adds: corpus, tokenizer, and settings that `train` does not know."""
    identity: dict[str, object] = {
        "corpus": fingerprint(corpus.splits["train"]),
        "tokenizer": fingerprint(tokenizer.to_json()),
        "bidirectional": recipe.bidirectional,
    }
    if recipe.keep == "best":
        identity["keep"] = "best"  # a model that was not kept is lost
    if corpus.validation is not None:  # otherwise losses on different pairs would be compared
        identity["validation"] = fingerprint(corpus.splits[corpus.validation])
    if start is not None:
        identity["start"] = digest_tensors(start.state_dict())
    return identity


def source_digest(model: nn.Module) -> str:
    """Return a digest of the source that computes the model's updates: our formulas, and its own classes."""
    sources = [path.read_text("utf-8") for pattern in FORMULAS for path in sorted(PACKAGE.glob(pattern))]
    kinds = {kind for part in model.modules() for kind in type(part).__mro__[:-1]}
    for kind in sorted(kinds, key=code_name):
        if not kind.__module__.startswith(("torch.", "annotated_transformer.", "abc", "typing")):
            with suppress(OSError, TypeError):  # a class of a terminal session, which has no source
                sources.append(inspect.getsource(kind))
    return fingerprint(sources)
