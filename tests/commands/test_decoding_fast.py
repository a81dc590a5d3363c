"""`--fast`: the same translations, what is refused, and a run that only resumes as it began."""

from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer.commands import train as module
from annotated_transformer.fast import kv_cache
from annotated_transformer.model import attention
from annotated_transformer.text import corpus as corpora
from annotated_transformer.training.config import TrainingConfig

pytestmark = pytest.mark.usefixtures("pretrained", "unchecked", "one_thread")
WAY_OUT = "run without --fast: your model computes something else\n"


@pytest.fixture
def commands(tmp_path: Path, monkeypatch) -> dict[str, list[str]]:
    monkeypatch.setattr(corpora, "TOY_PAIRS", 211)
    for name in ("a", "b"):
        (tmp_path / name).write_text("Two dogs.\nA child\n", encoding="utf-8")
    files = [f"--test-{side}={tmp_path / name}" for side, name in (("source", "a"), ("target", "b"))]
    files += [f"--train-{side}={tmp_path / name}" for side, name in (("source", "a"), ("target", "b"))]
    small = ["--num-layers=1", "--d-model=8", "--d-ff=8", "--vocab-size=300", "--batch-tokens=99"]
    out = f"--out={tmp_path / 'out'}"
    return {
        "translate": ["translate", "--input", str(tmp_path / "a")],
        "evaluate": ["evaluate", "--pretrained=en-de", "--split=test", *files],
        "train": ["train", "--corpus=toy", "--steps=1", "--seed=3", *small, out],
    }


@pytest.mark.parametrize("name", ["translate", "evaluate"])
def test_oracle_the_accelerated_steps_print_the_same(commands, name: str, monkeypatch, capsys):
    made: list[bool] = []
    fast, said = kv_cache.FastKeyValueCache, []
    monkeypatch.setattr(kv_cache, "FastKeyValueCache", lambda *given: made.append(True) or fast(*given))
    for option in ([], ["--fast"]):
        assert not made
        assert command_line.main([*commands[name], *option]) == 0
        said.append(capsys.readouterr().out)
    assert made
    assert said[0] == said[1] != ""


@pytest.mark.message
@pytest.mark.parametrize("name", ["translate", "evaluate", "train"])
def test_message_another_formula(commands, name: str, monkeypatch, capsys):
    softmax = attention.masked_softmax
    monkeypatch.setattr(attention, "masked_softmax", lambda scores, mask: softmax(2 * scores, mask))
    assert command_line.main([*commands[name], "--fast"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    *_, error = err.splitlines(keepends=True)
    assert error.startswith("error: --fast and your model differ by ")
    assert error.endswith(WAY_OUT)
    assert command_line.main(commands[name]) == 0


@pytest.mark.message
def test_message_another_device(commands, monkeypatch, capsys):
    monkeypatch.setattr(module, "take_device", lambda name: torch.device("meta"))  # as if it were a card
    assert command_line.main([*commands["train"], "--fast"]) == 2
    expected = "error: --fast is made for CPUs, and the model is on meta; leave it out\n"
    assert capsys.readouterr().err.endswith(expected)


@pytest.mark.message
@pytest.mark.parametrize(("before", "now"), [(True, False), (False, True), (None, False), (None, True)])
def test_message_a_run_that_began_in_another_way(commands, before, now: bool, monkeypatch, capsys):
    """Before, the default was `None`: the accelerated path where it could be taken."""
    key, train = TrainingConfig.resume_key, commands["train"]
    with monkeypatch.context() as older:
        older.setattr(TrainingConfig, "resume_key", lambda config: key(config) | {"fast": before})
        assert command_line.main([*train, *["--fast"] * bool(before)]) == 0
    capsys.readouterr()
    assert command_line.main([*train, "--steps=2", *["--fast"] * now]) == 2
    was = "not given" if before is None else before
    assert f"of another training run: --fast was {was} and is {now}; resume" in capsys.readouterr().err
    if before is not None:
        assert command_line.main([*train, "--steps=2", *["--fast"] * before]) == 0
