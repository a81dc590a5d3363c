"""Models other than the Transformer are trained as it is: updates, resuming, and metrics."""

import dataclasses
from pathlib import Path

import pytest

from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.text.batching import Pair
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.trainer import train
from tests.own_models import Classifier, LanguageModel, Stack, classes, make, sequences
from tests.small_training import rng
from tests.tiny_run import same

BRIEF = TrainingConfig(steps=7, batch_tokens=37, warmup_steps=3, max_lr=1e-2)
KINDS = [(LanguageModel, sequences), (Classifier, classes)]


@pytest.mark.message
def test_message_the_fast_modules_are_for_a_transformer():
    config = dataclasses.replace(BRIEF, fast=True)
    expected = r"^fast=True, and LanguageModel computes its own loss; the fast one is that of a Transformer"
    with pytest.raises(ValueError, match=expected):
        train(make(LanguageModel), sequences(5), config, generator=rng())


@pytest.mark.message
@pytest.mark.parametrize(
    ("kind", "pair", "sentence"),
    [
        (LanguageModel, ([], []), "pair 6 has no target; give each source at least one id to predict"),
        (LanguageModel, ([], [1, 17, 2]), "pair 6 holds the id 17, and the model has vocab_size=17"),
        (LanguageModel, ([], [4] * 25), "pair 6 has 0 source and 25 target tokens, and the model 23 pos"),
        (Classifier, ([0, 2], [3]), "pair 6 holds 0, the model's pad_id"),
        (Classifier, ([], [3]), "pair 6 has no source to predict its target from; give one"),
        (LanguageModel, ([], [1]), "pair 6 has 1 target token; give two or more, of which all but one are"),
        (Classifier, ([4, 2], [1, 3]), "a pair among .* has 2 classes; give each one:"),
    ],
)
def test_message_a_pair_that_does_not_fit(kind, pair: Pair, sentence: str):
    pairs = [*dict(KINDS)[kind](5), pair]
    untrained, model = make(kind), make(kind)
    with pytest.raises(ValueError, match=f"^{sentence}"):
        train(model, pairs, BRIEF, generator=rng())
    assert same(model.state_dict(), untrained.state_dict())


@pytest.mark.message
def test_message_a_run_of_another_class_is_not_resumed(tmp_path: Path):
    class Renamed(LanguageModel):
        pass

    def session(kind: type[Stack], steps: int) -> None:
        config = dataclasses.replace(BRIEF, steps=steps)
        with RunDirectory(tmp_path) as directory:
            train(make(kind), sequences(23), config, generator=rng(), run_directory=directory)

    session(LanguageModel, 2)
    session(LanguageModel, 3)
    with pytest.raises(ValueError, match=r"model was LanguageModel and is .*Renamed; resume with"):
        session(Renamed, 4)
