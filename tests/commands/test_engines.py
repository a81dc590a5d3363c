"""`translate --engine`: an engine by name, with the same output, and options that it refuses."""

import sys
from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from tests.commands.conftest import DEVICE

pytestmark = pytest.mark.usefixtures("pretrained", "unchecked")
TEXTS = ["Two dogs. A child 🙂", "A man is sleeping in the park."]


def run(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> tuple[str, str]:
    assert command_line.main(["translate", *arguments]) == status
    out, err = capsys.readouterr()
    return out, err


@pytest.mark.parametrize("options", [[], ["--engine-dtype", "float32"], ["--beam", "1"]])
def test_oracle_ctranslate2_prints_what_we_print(capsys, options: list[str]):
    ours, err = run(capsys, *TEXTS)
    assert len(ours.splitlines()) == 2
    assert err == DEVICE
    assert run(capsys, "--engine", "ctranslate2", *options, *TEXTS) == (ours, DEVICE)


def test_oracle_ctranslate2_prints_the_best_hypotheses_in_order(capsys):
    out, _ = run(capsys, "--engine", "ctranslate2", "--nbest", "3", "--length-penalty", "plain", *TEXTS)
    lines = [line.split("\t", 1) for line in out.splitlines()]
    assert len(lines) == 6
    log_probs = [float(number) for number, _ in lines]
    assert log_probs[:3] == sorted(log_probs[:3], reverse=True)
    assert len({text for _, text in lines[:3]}) > 1


@pytest.mark.message
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--engine-dtype", "int8"],
            "--engine-dtype has an effect only with --engine; add it, or leave it out",
        ),
        (
            ["--engine", "ctranslate2", "--sample"],
            "--engine ctranslate2 searches, and --sample draws; leave one",
        ),
        (
            ["--engine", "ctranslate2", "--fast"],
            "--engine ctranslate2 and --fast both say how to decode; leave one of them out",
        ),
        (
            ["--engine", "ctranslate2", "--device", "cuda"],
            "--engine ctranslate2 computes on the CPU, and --device is cuda; leave one of them out",
        ),
    ],
)
def test_message_options_that_an_engine_does_not_have(capsys, options: list[str], words: str):
    assert words in run(capsys, *options, *TEXTS, status=2)[1]


@pytest.mark.message
def test_message_a_missing_library_is_one_line(capsys, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    _, err = run(capsys, "--engine", "ctranslate2", *TEXTS, status=2)
    assert err.count("\n") == 1
    assert "pip install '.[interop]'" in err


def test_law_the_engine_computes_on_the_cpu_where_there_is_cuda(pretrained: Path, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    assert run(capsys, "--engine", "ctranslate2", *TEXTS)[1] == DEVICE
