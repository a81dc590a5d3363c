"""What a training run has written to its folder is read, or refused with the file and the reason."""

import dataclasses
import json
from pathlib import Path

import pytest
from safetensors.torch import save

from annotated_transformer.checkpointing.run_directory import METRICS_FILE, RunDirectory
from annotated_transformer.checkpointing.training_state_file import STATE_FILE
from annotated_transformer.plotting.reports import read_reports, read_schedule
from tests.run_reports import REPORTS, settings
from tests.tiny_run import Run


def test_law_reports_written_by_a_run_directory_can_be_read(tmp_path: Path):
    with RunDirectory(tmp_path) as run_directory:
        for report in REPORTS:
            run_directory.report(dataclasses.asdict(report))
        assert read_reports(tmp_path) == REPORTS


def test_law_the_schedule_of_a_run_agrees_with_its_reports(run: Run, tmp_path: Path):
    """The rates at reported steps are those used in training; the others are computed from the settings."""
    _, reports = run.into(tmp_path / "run")
    assert read_reports(tmp_path / "run") == reports
    rate = read_schedule(tmp_path / "run")
    assert [rate(report.step) for report in reports] == [report.lr for report in reports]
    assert rate(3) == pytest.approx(1e-2)
    assert len({report.lr for report in reports}) > 1
    assert read_schedule(tmp_path) is None
    (tmp_path / STATE_FILE).write_bytes(settings(max_lr=None))
    assert read_schedule(tmp_path)(5) == pytest.approx((7 * 5) ** -0.5)


@pytest.mark.message
def test_message_a_folder_without_reports(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"no .*metrics\.jsonl; give the folder of a training run th"):
        read_reports(tmp_path)


@pytest.mark.message
@pytest.mark.parametrize("content", [b"not tensors", save({}, {"format": "pt"}), save({})])
def test_message_settings_that_cannot_be_read(tmp_path: Path, content: bytes):
    (tmp_path / STATE_FILE).write_bytes(content)
    message = r"training\.safetensors does not hold the settings of a training run \(.+\); plot without it"
    with pytest.raises(ValueError, match=message):
        read_schedule(tmp_path)


def line_of(step: int) -> str:
    return json.dumps(dataclasses.asdict(dataclasses.replace(REPORTS[0], step=step)))


@pytest.mark.message
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"step": 3', "Expecting.*"),
        ('{"step": 3}', ".*missing.*"),
        ("[1]", ".*mapping.*"),
        (line_of(11), "step 11 follows step 11"),
        (line_of(5), "step 5 follows step 11"),
    ],
)
def test_message_a_line_that_is_not_the_next_report(tmp_path: Path, line: str, reason: str):
    (tmp_path / METRICS_FILE).write_text(f"{line_of(11)}\n{line}\n")
    words = rf"metrics\.jsonl, line 2 is not a report of a training run \({reason}\); repair or remove it"
    with pytest.raises(ValueError, match=words):
        read_reports(tmp_path)


@pytest.mark.message
def test_message_a_last_line_that_was_cut_off(tmp_path: Path):
    lines = [json.dumps(dataclasses.asdict(report)) for report in REPORTS[:2]]
    (tmp_path / METRICS_FILE).write_text(f"{lines[0]}\n{lines[1][:-1]}")
    with pytest.warns(UserWarning, match=r"metrics\.jsonl: the last line, b'\{.*'…, was cut off; the curves"):
        assert read_reports(tmp_path) == REPORTS[:1]
