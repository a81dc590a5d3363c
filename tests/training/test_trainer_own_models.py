"""Models other than the Transformer are trained as it is: updates, resuming, metrics, and processes."""

import dataclasses
import json
import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.plotting import plot_curves
from annotated_transformer.text.batching import Pair
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.trainer import TrainingStopped, train
from tests.own_models import Classifier, LanguageModel, Stack, classes, make, sequences
from tests.small_training import rng
from tests.tiny_run import same
from tests.torchrun import torchrun

BRIEF = TrainingConfig(steps=7, batch_tokens=37, warmup_steps=3, max_lr=1e-2)
KINDS = [(LanguageModel, sequences), (Classifier, classes)]


def loss_by_pytorch(model: Stack, pairs: list[Pair], smoothing: float) -> Tensor:
    """Return the mean over the labels, one pair at a time, so without padding."""
    losses: list[Tensor] = []
    for src, tgt in pairs:
        if isinstance(model, LanguageModel):
            logits, labels = model(torch.tensor([tgt[:-1]]))[0], torch.tensor(tgt[1:])
        else:
            logits, labels = model(torch.tensor([src])), torch.tensor(tgt)
        losses += F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="none")
    return torch.stack(losses).mean()


@pytest.mark.parametrize(("kind", "draw"), KINDS)
@pytest.mark.usefixtures("unchecked")
def test_oracle_two_updates_and_the_losses_are_those_of_pytorch(kind, draw):
    pairs, held_out = draw(3), draw(11, seed=1)
    ours, theirs = make(kind).double(), make(kind).double()
    config = dataclasses.replace(BRIEF, steps=2, clip_norm=0.05)
    first, last = train(ours, pairs, config, generator=rng(), validation=held_out)
    adam = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step, metrics in ((1, first), (2, last)):
        loss = loss_by_pytorch(theirs, pairs, 0.1)
        adam.param_groups[0]["lr"] = 1e-2 * step / 3
        adam.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(theirs.parameters(), 0.05)
        adam.step()
        assert metrics.training_loss == pytest.approx(loss.item(), rel=1e-8)
        assert metrics.gradient_norm == pytest.approx(norm.item(), rel=1e-6)
        assert metrics.validation_loss == pytest.approx(loss_by_pytorch(theirs, held_out, 0).item(), rel=1e-6)
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), rtol=1e-6, atol=1e-8)
    assert (last.encoder_cosine, last.encoder_collapsed, last.cross_attention_entropy) == (None,) * 3


@pytest.mark.parametrize(("kind", "draw"), KINDS)
@pytest.mark.usefixtures("unchecked")
def test_law_an_interrupted_run_resumes_to_the_same_weights(kind, draw, tmp_path: Path):
    def run(folder: Path, seconds: float = 180.0, **options: object) -> dict[str, Tensor]:
        model = make(kind, dropout=0.3)
        config = dataclasses.replace(BRIEF, steps=17, patience=9)
        with RunDirectory(folder, seconds=seconds) as directory:
            kept = {"run_directory": directory, "validation": draw(5, seed=1)}
            train(model, draw(23), config, generator=rng(), **kept, **options)
        return model.state_dict()

    expected = run(tmp_path / "whole")
    asked = iter([False] * 5 + [True])
    with pytest.raises(TrainingStopped):
        run(tmp_path / "stopped", stop=lambda: next(asked))
    assert same(run(tmp_path / "stopped"), expected)
    assert not same(make(kind).state_dict(), expected)
    lines = [json.loads(line) for line in (tmp_path / "stopped" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["step"] == 17
    assert lines[-1]["encoder_cosine"] is None
    plot_curves(tmp_path / "stopped")  # without the curves that there are none of


@pytest.mark.usefixtures("unchecked")
def test_law_a_language_model_learns_to_count():
    model = make(LanguageModel, d_model=20, num_heads=4)
    config = TrainingConfig(steps=90, batch_tokens=211, warmup_steps=20, max_lr=1e-2, label_smoothing=0.0)
    (*_, last) = train(model, sequences(97), config, generator=rng(), validation=sequences(31, seed=1))
    with torch.no_grad():
        found = model(torch.tensor([[1, 5, 6, 7]]))[0, 1:].argmax(dim=-1)
    assert last.validation_loss < 1.2  # only where a sentence starts and ends is left to guess
    assert found[0] == 6


@pytest.mark.usefixtures("unchecked")
def test_law_bfloat16_gives_nearly_the_same_loss(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    exact, half = (
        train(make(Classifier), classes(7), dataclasses.replace(BRIEF, bf16=bf16), generator=rng())
        for bf16 in (False, True)
    )
    assert half[-1].training_loss == pytest.approx(exact[-1].training_loss, rel=0.05)
    assert half[-1].training_loss != exact[-1].training_loss


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
        (LanguageModel, ([], []), "pair 5 has no target; give each source at least one id to predict"),
        (LanguageModel, ([], [1, 17, 2]), "pair 5 holds the id 17, and the model has vocab_size=17"),
        (LanguageModel, ([], [1, 0, 2]), "pair 5 holds 0, the model's pad_id"),
        (
            LanguageModel,
            ([], [4] * 25),
            "pair 5 has 0 source and 25 target tokens, and the model 23 positions",
        ),
        (Classifier, ([0, 2], [3]), "pair 5 holds 0, the model's pad_id"),
        (Classifier, ([], [3]), "pair 5 has no source to predict its target from; give one"),
        (LanguageModel, ([], [1]), "pair 5 has 1 target token; give two or more, of which all but one are"),
        (Classifier, ([4, 2], [1, 3]), "a pair among .* has 2 classes; give each one:"),
        (Classifier, ([-1, 2], [0]), "pair 5 holds the id -1, and the model has vocab_size=17"),
        (Classifier, ([4, 2], 3), "pair 5 has '3', which is not a list of ids; give"),
    ],
)
def test_message_a_pair_that_does_not_fit(kind, pair: Pair, sentence: str):
    pairs = [*dict(KINDS)[kind](5), pair]
    untrained, model = make(kind), make(kind)
    error = TypeError if "is not a list" in sentence else ValueError
    with pytest.raises(error, match=f"^{sentence}"):
        train(model, pairs, BRIEF, generator=rng())
    assert same(model.state_dict(), untrained.state_dict())


@pytest.mark.message
def test_message_training_that_diverges():
    broken = make(LanguageModel)
    nn.init.constant_(broken.embedding.weight[2], math.nan)
    with pytest.raises(FloatingPointError, match="the loss is nan at step 1, "):
        train(broken, sequences(5), BRIEF, generator=rng())


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


class Bare(nn.Module):
    pass


@pytest.mark.message
def test_message_a_model_without_the_protocol():
    expected = "train takes a Transformer or a TrainableModel, not Bare; derive Bare from annotated_"
    with pytest.raises(TypeError, match=expected):
        train(Bare(), sequences(5), BRIEF, generator=rng())


SCRIPT = """
import dataclasses, json, sys
from pathlib import Path
import torch
from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.distributed import join_process_group
from annotated_transformer.training.trainer import train
from tests.own_models import Classifier, LanguageModel, classes, make, sequences

torch.set_num_threads(1)

def run(kind, pairs, directory=None, steps=9):
    model = make(kind).double()
    config = TrainingConfig(steps=steps, batch_tokens=37, warmup_steps=3, max_lr=1e-2, clip_norm=1.0)
    rng = torch.Generator().manual_seed(0)
    reports = train(model, pairs, config, generator=rng, run_directory=directory, validation=pairs[:7])
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    return [weights.tolist(), *([r.training_loss, r.validation_loss, r.gradient_norm] for r in reports)]

if __name__ == "__main__":
    with join_process_group() as group:
        found = [run(LanguageModel, sequences(23)), run(Classifier, classes(23))]
        for steps in (4, 9):
            with RunDirectory(Path(sys.argv[1]) / "kept", seconds=0.0) as directory:
                resumed = run(Classifier, classes(23), directory, steps)
        assert resumed[0] == found[1][0], "resumed to other weights"
        if group.rank == 0:
            Path(sys.argv[1], "together").write_text(json.dumps(found))
"""


@pytest.mark.usefixtures("unchecked")
def test_law_two_processes_give_the_weights_of_one(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = torchrun(2, str(script), str(tmp_path))
    assert done.returncode == 0, done.stderr
    names: dict[str, object] = {}
    exec(compile(SCRIPT, "script", "exec"), names)  # without its main part
    alone = [names["run"](LanguageModel, sequences(23)), names["run"](Classifier, classes(23))]
    together = json.loads((tmp_path / "together").read_text())
    for one, two in zip(alone, together, strict=True):
        for ours, theirs in zip(one, two, strict=True):
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-11)
