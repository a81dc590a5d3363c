"""Training from a recipe leaves a complete model in the folder after every epoch, whatever stops it."""

import argparse
import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.averaging import epoch_checkpoints
from annotated_transformer.checkpointing.files import fingerprint
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import encode_pairs
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.tokenizer import Tokenizer
from annotated_transformer.training import recipe as module
from annotated_transformer.training import trainer
from annotated_transformer.training.metrics import EpochMetrics
from annotated_transformer.training.recipe import Recipe, train_from_recipe
from annotated_transformer.training.training_state import TrainingState
from tests.run_reports import REPORTS
from tests.tiny_run import lines, same
from tests.toy_recipe import RECIPE, SHAPE, corpus, for_steps, own_tokenizer, weights

pytestmark = pytest.mark.usefixtures("unchecked")


class Killed(BaseException):
    """Simulates the end of the process, or ends a test that only looks at the arguments."""


@pytest.fixture
def not_training(monkeypatch) -> Mock:
    """Record the arguments of `train_steps`, and stop before training."""
    monkeypatch.setattr(module, "train_steps", mock := Mock(side_effect=Killed))
    return mock


@contextlib.contextmanager
def killed_at(step: int) -> Iterator[None]:
    """Kill a training run before the update after this step."""
    update = trainer.update

    def stop(state: TrainingState, *args: object) -> trainer.Update:
        if state.progress.step == step:
            raise Killed
        return update(state, *args)

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(trainer, "update", stop)
        yield


def arguments_of(not_training: Mock, *arguments: object, **options: object) -> argparse.Namespace:
    with pytest.raises(Killed):
        train_from_recipe(*arguments, **options)
    model, pairs, _ = not_training.call_args.args
    return argparse.Namespace(model=model, pairs=pairs, **not_training.call_args.kwargs)


def with_training(recipe: Recipe = RECIPE, **changes: object) -> Recipe:
    return dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, **changes))


AGAIN = "train again with more than warmup_steps=3, or with a lower max_lr"
MEANING = "so translations hardly depend on the source, even if loss and BLEU look plausible"


def test_law_the_seed_also_determines_the_order_and_the_segmentations(tmp_path: Path, not_training):
    runs = [arguments_of(not_training, RECIPE, corpus(), tmp_path, seed=seed) for seed in (3, 4, 3)]
    first, other, again = ((torch.randperm(97, generator=x.generator).tolist(), x.pairs(0)) for x in runs)
    assert first == again
    assert all(ours != theirs for ours, theirs in zip(first, other, strict=True))


@pytest.mark.parametrize("limit", ["batch_tokens", "max_length"])
def test_law_no_segmentation_is_longer_than_a_batch_or_the_positions(
    tmp_path: Path, not_training, limit: str
):
    def longest(pairs: list) -> int:
        return max(len(ids) for pair in pairs for ids in pair)

    most = longest(encode_pairs(own_tokenizer(), corpus().splits["train"]))
    limits = {"batch_tokens": 499, "max_length": 256}
    lengths = []
    for changed in (limits, limits | {limit: most}):
        shape = dataclasses.replace(SHAPE, max_length=changed["max_length"])
        recipe = dataclasses.replace(with_training(batch_tokens=changed["batch_tokens"]), shape=shape)
        recipe = dataclasses.replace(recipe, bpe_dropout=0.9)
        lengths.append(longest(arguments_of(not_training, recipe, corpus(), tmp_path, seed=0).pairs(0)))
    free, held = lengths
    assert held <= most < free


def test_law_after_each_epoch_the_folder_holds_the_mean_of_the_last_epochs(tmp_path: Path):
    seen = []

    def look(report: EpochMetrics) -> None:  # called before the epoch that it reports is written
        if seen:
            assert same(weights(tmp_path), mean(epoch_checkpoints(tmp_path)))
        seen.append(report.encoder_collapsed)

    train_from_recipe(RECIPE, corpus(), tmp_path, seed=3, log=look)
    assert len(seen) >= 3
    assert not any(seen)
    assert len(epoch_checkpoints(tmp_path)) == 2
    assert same(weights(tmp_path), mean(epoch_checkpoints(tmp_path)))
    once = dataclasses.replace(RECIPE, average=1)  # nothing is left to train
    assert train_from_recipe(once, corpus(), tmp_path, seed=3) == RECIPE.training.steps
    assert len(epoch_checkpoints(tmp_path)) == 2
    assert same(weights(tmp_path), weights(epoch_checkpoints(tmp_path)[-1]))


def mean(folders: list[Path]) -> dict[str, torch.Tensor]:
    each = [weights(folder) for folder in folders]
    return {name: torch.stack([one[name].double() for one in each]).mean(dim=0).float() for name in each[0]}


TOO_FAST = dataclasses.replace(RECIPE.training, max_lr=0.1, steps=37)  # the third of four epochs is the best
OPTIONS = {
    "clip_norm": {"training": dataclasses.replace(TOO_FAST, clip_norm=0.5)},
    "keep, average": {"training": TOO_FAST, "keep": "best"},
    "patience, keep": {"training": dataclasses.replace(TOO_FAST, patience=1), "keep": "best"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_law_each_option_is_resumed_bit_for_bit(tmp_path: Path, options: dict[str, object]):
    recipe = dataclasses.replace(RECIPE, **options)
    best_step = train_from_recipe(recipe, corpus(), tmp_path / "whole", seed=3)
    for last in (14, 24):  # after the second epoch, and within the one after the best
        with killed_at(last):
            train_from_recipe(recipe, corpus(), tmp_path / "killed", seed=3, save_seconds=1e9)
    for _ in range(2):  # the second time, nothing is left to do
        assert train_from_recipe(recipe, corpus(), tmp_path / "killed", seed=3) == best_step
        assert same(weights(tmp_path / "killed"), weights(tmp_path / "whole"))
        assert lines(tmp_path / "killed") == lines(tmp_path / "whole")


@pytest.mark.parametrize("average", [1, 2])
def test_law_the_epoch_with_the_lowest_validation_loss_is_the_best_and_patience_counts_from_it(
    tmp_path: Path, average: int
):
    recipe = dataclasses.replace(RECIPE, training=TOO_FAST, keep="best", average=average)
    logged: list[object] = []
    options = {"seed": 3, "log": logged.append}
    best_step = train_from_recipe(with_training(recipe, patience=1), corpus(), tmp_path / "best", **options)
    assert logged[-1] == "stopped early (patience=1): the validation loss was lowest at the end of epoch 3"
    losses = {line["step"]: line["validation_loss"] for line in lines(tmp_path / "best")}
    assert best_step == min(losses, key=losses.get)
    assert list(losses).index(best_step) == 2 == len(losses) - 2
    until = for_steps(best_step, dataclasses.replace(recipe, keep="last"))
    assert train_from_recipe(until, corpus(), tmp_path / "until", seed=3) == best_step
    assert same(weights(tmp_path / "best"), weights(tmp_path / "until"))
    train_from_recipe(with_training(recipe, patience=2), corpus(), tmp_path / "best", **options)
    assert lines(tmp_path / "best")[-1]["step"] == TOO_FAST.steps  # resumed, with more patience


@pytest.mark.parametrize(("mode", "sign", "extreme"), [("min", 1, "lowest"), ("max", -1, "highest")])
def test_law_a_criterion_decides_what_is_best_and_when_to_stop(tmp_path: Path, mode, sign, extreme):
    seen, logged = [], []

    def criterion(model: Transformer, tokenizer: Tokenizer) -> float:
        assert tokenizer.vocab_size == model.config.vocab_size
        assert not model.training
        seen.append(abs(len(seen) - 1))  # the second epoch is the best one
        return sign * seen[-1]

    training = dataclasses.replace(RECIPE.training, steps=99, patience=2)
    recipe = dataclasses.replace(RECIPE, training=training, keep="best")
    only = corpus(splits={"train": corpus().splits["train"]})
    settings = {"seed": 3, "criterion": criterion, "mode": mode, "log": logged.append}
    best_step = train_from_recipe(recipe, only, tmp_path, **settings)
    assert seen == [1, 0, 1, 2]
    assert best_step == [line["step"] for line in lines(tmp_path)][1]
    assert logged[-1] == f"stopped early (patience=2): the criterion was {extreme} at the end of epoch 2"


@pytest.mark.message
@pytest.mark.parametrize(
    ("changes", "seed", "message"),
    [
        ({"keep": "best"}, 3, "^keep='best' compares validation losses, and there are no valid"),
        ({"training": dataclasses.replace(TOO_FAST, patience=2)}, 3, "^patience=2 compares valid"),
        ({}, 2**32 + 3, f"^seed={2**32 + 3}, of which .* the last 32 bits, 3; give 0 to"),
    ],
)
def test_message_what_is_refused_before_the_folder_is_made(tmp_path: Path, changes, seed, message: str):
    train_only = corpus(splits={"train": corpus().splits["train"]})
    with pytest.raises(ValueError, match=message):
        train_from_recipe(dataclasses.replace(RECIPE, **changes), train_only, tmp_path / "out", seed=seed)
    assert not (tmp_path / "out").exists()


@pytest.mark.message
def test_message_a_run_that_ends_within_the_warm_up(tmp_path: Path):
    for limits, first in (({"steps": 12}, True), ({"steps": None, "minutes": 1e-9}, False)):
        logged: list[object] = []
        recipe = with_training(warmup_steps=50, **limits)
        step = train_from_recipe(recipe, corpus(), tmp_path / str(first), seed=3, log=logged.append)
        (place,) = [i for i, message in enumerate(logged) if "within the warm-up" in str(message)]
        assert (place == 0) == first  # it is known before the run, or only after it
        assert logged[place] == (
            f"warning: the run ends within the warm-up (steps={step} of warmup_steps=50): the "
            f"learning rate only rises, to {step / 50:.0%} of its highest value, so the model learns little; "
            f"give more steps, or fewer warmup_steps"
        )


def test_law_a_model_trained_on_cleaned_sentences_cleans_its_input(tmp_path: Path):
    for cleaned in (True, False):
        train_from_recipe(for_steps(1), corpus(cleaned=cleaned), tmp_path / str(cleaned), seed=0)
    normalized = [checkpoint.load(tmp_path / name)[1].normalize("„Ja“") for name in ("True", "False")]
    assert normalized == ['"Ja"', "„Ja“"]


@pytest.mark.message
@pytest.mark.parametrize(
    ("begun", "changes", "texts", "sentence"),
    [
        ({}, {}, {"cleaned": True}, "tokenizer is not the same;"),
        ({}, {"bidirectional": 2}, {}, "bidirectional was 0 and is 2, "),
        ({}, {"keep": "best"}, {}, "keep was not given and is best"),
    ],
    ids=["tokenizer", "bidirectional", "keep"],
)
def test_message_another_training_run(tmp_path: Path, begun, changes, texts, sentence: str):
    train_from_recipe(dataclasses.replace(for_steps(1), **begun), corpus(), tmp_path, seed=3)
    recipe = dataclasses.replace(for_steps(2), **changes)
    with pytest.raises(ValueError, match=f"another training run: {sentence}"):
        train_from_recipe(recipe, corpus(**texts), tmp_path, seed=3)


@pytest.mark.parametrize("bpe_dropout", [0.0, 0.1])
def test_law_bidirectional_epochs_contain_each_pair_and_its_reverse(
    tmp_path, not_training, bpe_dropout: float
):
    recipe = dataclasses.replace(RECIPE, bidirectional=2, bpe_dropout=bpe_dropout)
    pairs_of = arguments_of(not_training, recipe, corpus(), tmp_path, seed=0).pairs
    texts = corpus().splits["train"]
    both, tokenizer = texts + [(target, source) for source, target in texts], own_tokenizer()
    for epoch, expected in enumerate([both, both, texts, texts]):
        sides = [tokenizer.decode([pair[side] for pair in pairs_of(epoch)]) for side in (0, 1)]
        assert list(zip(*sides, strict=True)) == expected


def test_law_a_starting_model_gives_weights_and_tokenizer_and_the_recipe_the_dropout(tmp_path, request):
    train_from_recipe(for_steps(2), corpus(), tmp_path / "first", seed=3)
    not_training = request.getfixturevalue("not_training")
    fewer = corpus(splits={"train": corpus().splits["train"][:29]})  # whose own tokenizer would differ
    recipe = dataclasses.replace(RECIPE, shape=dataclasses.replace(SHAPE, dropout=0.17))
    anew, further = (
        arguments_of(not_training, recipe, fewer, tmp_path / "next", seed=4, start=start)
        for start in (None, tmp_path / "first")
    )
    of_fewer, tokenizer = (one.run_directory.identity["tokenizer"] for one in (anew, further))
    assert tokenizer == fingerprint(checkpoint.load(tmp_path / "first")[1].to_json()) != of_fewer
    assert same(further.model.state_dict(), weights(tmp_path / "first"))
    assert further.model.config.dropout == 0.17


def test_law_a_fine_tuning_run_resumes_exactly_and_only_from_the_same_start(tmp_path: Path):
    for seed in (3, 4):
        train_from_recipe(for_steps(1), corpus(), tmp_path / f"start{seed}", seed=seed)
    once = dataclasses.replace(RECIPE, average=1)  # the other tests take a mean
    start = {"seed": 5, "start": tmp_path / "start3"}
    train_from_recipe(for_steps(9, once), corpus(), tmp_path / "whole", **start)
    for steps in (4, 9):
        train_from_recipe(for_steps(steps, once), corpus(), tmp_path / "resumed", **start)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "resumed"))
    changes = {tmp_path / "start4": "is not the same", None: "was given and is not given"}
    for other, change in changes.items():
        with pytest.raises(ValueError, match=f"another training run: start {change};"):
            train_from_recipe(for_steps(9, once), corpus(), tmp_path / "resumed", seed=5, start=other)


@pytest.mark.message
def test_message_a_starting_model_of_another_shape(tmp_path: Path):
    train_from_recipe(for_steps(1), corpus(), tmp_path / "first", seed=3)
    wider = dataclasses.replace(RECIPE, shape=dataclasses.replace(SHAPE, d_ff=32, num_heads=4, norm="pre"))
    message = r"first has d_ff=16, not 32 and num_heads=2, not 4 and norm='post', not 'pre'; ask for"
    with pytest.raises(ValueError, match=message):
        train_from_recipe(wider, corpus(), tmp_path / "second", seed=3, start=tmp_path / "first")
    assert not (tmp_path / "second").exists()


def collapsed(folder: Path, recipe: Recipe) -> Path:
    train_from_recipe(for_steps(1, recipe), corpus(), folder / "healthy", seed=3)
    model, tokenizer = checkpoint.load(folder / "healthy")
    encoder = model.encoder
    last = encoder.layers[-1].add_norm_2.norm if recipe.shape.norm == "post" else encoder.final_norm
    torch.nn.init.zeros_(last.gain)
    torch.nn.init.ones_(last.bias)
    checkpoint.save(folder / "collapsed", model, tokenizer)
    return folder / "collapsed"


@pytest.mark.message
@pytest.mark.parametrize(
    ("warmup_steps", "norm", "held_out", "way_out"),
    [
        (3, "post", True, f"{AGAIN}, or with norm='pre'"),
        (3, "pre", False, AGAIN),
        (18, "post", False, "train for more than warmup_steps=18"),
    ],
)
def test_message_a_collapsed_encoder_is_warned_of_once(tmp_path, warmup_steps, norm, way_out, held_out):
    recipe = with_training(warmup_steps=warmup_steps, max_lr=1e-12)
    recipe = dataclasses.replace(recipe, shape=dataclasses.replace(SHAPE, norm=norm))
    texts = corpus() if held_out else corpus(splits={"train": corpus().splits["train"]})
    logged: list[object] = []
    start = collapsed(tmp_path, recipe)
    train_from_recipe(recipe, texts, tmp_path / "out", seed=3, start=start, log=logged.append)
    reports = [message for message in logged if isinstance(message, EpochMetrics)]
    *others, warning = [message for message in logged if isinstance(message, str)]
    within = [other.startswith("warning: the run ends within the warm-up") for other in others]
    assert within == [True] * (warmup_steps > 17)
    settled = [report for report in reports if report.step >= min(warmup_steps, 17)]
    assert warning.startswith(f"warning: at step {settled[0].step}, the encoder has collapsed")
    assert warning.endswith(f"(mean cosine 1.000), {MEANING}; {way_out}")
    assert len(settled) > 1 or warmup_steps > 17
    collapsed_epochs = [line["encoder_collapsed"] for line in lines(tmp_path / "out")]
    assert collapsed_epochs == [None] * (len(reports) - len(settled)) + [True] * len(settled)


@pytest.mark.message
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"average": 0}, "average=0 epochs have no mean; give 1 or more epochs"),
        ({"bidirectional": -1}, r"bidirectional=-1 is not a number of epochs; give 0 \(none\) or more"),
        ({"keep": "first"}, "keep='first' is not an epoch to keep; give last or best"),
        ({"bpe_dropout": 1.0}, r"bpe_dropout=1\.0 is not a probability; give 0 \(none\) or more"),
        ({"bpe_dropout": -0.1}, r"bpe_dropout=-0\.1 is not a probability"),
    ],
)
def test_message_invalid_recipe_settings_are_refused_immediately(setting: dict[str, object], message: str):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(RECIPE, **setting)


@pytest.mark.parametrize(("loss", "perplexity"), [(1e4, "inf"), (600.0, "3.77e+260")])
def test_law_a_loss_of_any_size_is_reported(loss: float, perplexity: str):
    report = dataclasses.replace(REPORTS[0], validation_loss=loss)
    assert str(report).endswith(f"validation loss {loss:.3f} (perplexity {perplexity})")


@pytest.mark.message
@pytest.mark.parametrize(("limits", "shape"), [({"batch_tokens": 30}, {}), ({}, {"max_length": 30})])
def test_message_all_pairs_that_are_too_long_are_in_one_report(tmp_path: Path, limits, shape):
    lines = ["A man.", "Two dogs.", "wqx " * 40, "A child.", "wqx " * 41, "A hat."]
    for split, texts in {"train": lines, "valid": [*lines[:2], "wqx " * 42], "test": lines}.items():
        for ending in ("en", "de"):
            (tmp_path / f"{split}.{ending}").write_text("".join(f"{line}\n" for line in texts))
    recipe = dataclasses.replace(with_training(**limits), shape=dataclasses.replace(SHAPE, **shape))
    with pytest.raises(ValueError, match=r"these sentences, or give more of both$") as refused:
        train_from_recipe(recipe, load_corpus("files", folder=tmp_path), tmp_path / "out", seed=3)
    places = ("train", 3), ("train", 5), ("valid", 3)  # test pairs are not trained on
    for (split, line), problem in zip(places, str(refused.value).splitlines(), strict=True):
        assert problem.startswith(f"{tmp_path / f'{split}.en'} and {split}.de, line {line} has ")
    assert not (tmp_path / "out").exists()
