"""What a training run has written to its folder is read, or refused with the file and the reason."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from annotated_transformer.book.toy.tasks import copy_pairs
from annotated_transformer.checkpointing.run_directory import METRICS_FILE, RunDirectory
from annotated_transformer.checkpointing.training_state_file import STATE_FILE
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.plotting.reports import read_reports, read_schedule
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.trainer import train
from tests.run_reports import REPORTS, settings


def test_law_reports_written_by_a_run_directory_can_be_read(tmp_path: Path):
    with RunDirectory(tmp_path) as run_directory:
        for report in REPORTS:
            run_directory.report(dataclasses.asdict(report))
        assert read_reports(tmp_path) == REPORTS


def test_law_the_schedule_of_a_run_agrees_with_its_reports(tmp_path: Path):
    """The rates at reported steps are those used in training; the others are computed from the settings."""
    torch.manual_seed(0)
    shape = TransformerConfig(vocab_size=11, d_model=8, d_ff=16, num_heads=2, num_layers=1, max_length=16)
    rng = torch.Generator().manual_seed(0)
    pairs = copy_pairs(29, symbols=7, lengths=range(3, 6), generator=rng)
    config = TrainingConfig(steps=13, batch_tokens=40, warmup_steps=7, max_lr=5e-3)
    with RunDirectory(tmp_path / "run") as run_directory:
        reports = train(Transformer(shape), pairs, config, generator=rng, run_directory=run_directory)
    assert read_reports(tmp_path / "run") == reports
    assert all(report.encoder_collapsed in (True, False) for report in reports if report.step >= 7)
    rate = read_schedule(tmp_path / "run")
    assert rate is not None
    assert [rate(report.step) for report in reports] == [report.lr for report in reports]
    assert rate(7) == pytest.approx(5e-3)
    assert len({report.lr for report in reports}) > 1
    assert read_schedule(tmp_path) is None
    (tmp_path / STATE_FILE).write_bytes(settings(max_lr=None))
    assert read_schedule(tmp_path)(5) == pytest.approx((7 * 5) ** -0.5)


@pytest.mark.message
def test_message_a_folder_without_reports(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"no .*metrics\.jsonl; give the folder of a training run th"):
        read_reports(tmp_path)


@pytest.mark.message
@pytest.mark.parametrize(
    "content",
    [
        b"not tensors",
        save({}, {"format": "pt"}),
        save({}),
        settings(warmup_steps="many"),
        settings(d_model=0, max_lr=None),
    ],
)
def test_message_settings_that_cannot_be_read(tmp_path: Path, content: bytes):
    (tmp_path / STATE_FILE).write_bytes(content)
    message = r"training\.safetensors does not hold the settings of a training run \(.+\); plot without it"
    with pytest.raises(ValueError, match=message):
        read_schedule(tmp_path)


@pytest.mark.message
@pytest.mark.parametrize("line", ['{"step": 3', '{"step": 3}', "[1]", pytest.param("[" * 99_999, id="deep")])
def test_message_a_line_that_is_not_a_report(tmp_path: Path, line: str):
    (tmp_path / METRICS_FILE).write_text(json.dumps(dataclasses.asdict(REPORTS[0])) + f"\n{line}\n")
    with pytest.raises(ValueError, match=r"metrics\.jsonl, line 2 is not a report of a training run \(.*\);"):
        read_reports(tmp_path)


@pytest.mark.message
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"training_loss": "3.1"}, r"training_loss is '3\.1', not of the type float"),
        ({"lr": True}, "lr is True, not of the type float"),
        ({"encoder_collapsed": 1}, r"encoder_collapsed is 1, not of the type bool \| None"),
        ({"gradient_norm": None}, "gradient_norm is None, not of the type float"),
        ({"step": 2.5}, r"step is 2\.5, not of the type int"),
        ({"step": 0}, "step is 0, which no run has"),
        ({"step": 10**400}, "step is 10+, which no run has"),
    ],
)
def test_message_a_report_with_values_that_are_not_numbers(tmp_path: Path, change: dict, sentence: str):
    line = json.dumps(dataclasses.asdict(REPORTS[0]) | change)
    (tmp_path / METRICS_FILE).write_text(f"{line}\n")
    with pytest.raises(ValueError, match=rf"metrics\.jsonl, line 1 is not a report .*\({sentence}\); rep"):
        read_reports(tmp_path)


@pytest.mark.message
def test_message_a_last_line_that_was_cut_off(tmp_path: Path):
    lines = [json.dumps(dataclasses.asdict(report)) for report in REPORTS[:2]]
    (tmp_path / METRICS_FILE).write_text(f"{lines[0]}\n{lines[1][:-1]}")
    with pytest.warns(UserWarning, match=r"metrics\.jsonl: the last line, b'\{.*'…, was cut off; the curves"):
        assert read_reports(tmp_path) == REPORTS[:1]


@pytest.mark.message
def test_message_steps_that_do_not_rise(tmp_path: Path):
    for step in (11, 5):
        lines = [json.dumps(dataclasses.asdict(REPORTS[0]) | {"step": each}) for each in (11, step)]
        (tmp_path / METRICS_FILE).write_text("\n".join([*lines, ""]))
        with pytest.raises(ValueError, match=rf"line 2 is not a report .*\(step {step} follows step 11\)"):
            read_reports(tmp_path)
