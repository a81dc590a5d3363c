"""Damaged states and metrics are rejected, and other format versions; a run's id depends on its settings."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.checkpointing.training_state import run_id
from tests.tiny_run import BRIEF, STATE, Run


def flip(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


DAMAGES = {
    "cut": lambda data: data[: len(data) // 2],
    "a bit of a weight": lambda data: flip(data, -9),
    "a name of its header": lambda data: data.replace(b'"digest"', b'"digesd"'),
    "another": lambda data: data.replace(b'"state":', b'"statd":'),
    "the step": lambda data: data.replace(rb"\"step\": 1,", rb"\"step\": 0,"),
}


ONE_STEP = dataclasses.replace(BRIEF, steps=1)


@pytest.mark.message
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_message_a_damaged_state(run: Run, tmp_path: Path, damage: Callable[[bytes], bytes]):
    with RunDirectory(tmp_path) as run_directory:
        run(run_directory, ONE_STEP)
    whole = (tmp_path / STATE).read_bytes()
    (tmp_path / STATE).write_bytes(damage(whole))
    assert damage(whole) != whole
    message = r"training\.safetensors is damaged \(.+\); give another folder to train from the first step"
    with RunDirectory(tmp_path) as run_directory, pytest.raises(ValueError, match=message):
        run(run_directory)


@pytest.mark.message
@pytest.mark.parametrize("line", ["{", "7", '{"loss": 1}'])
def test_message_damaged_metrics(run: Run, tmp_path: Path, line: str):
    (tmp_path / "metrics.jsonl").write_text(f"{line}\n")
    message = r"metrics\.jsonl is damaged \(.+\): each line must be JSON with a step; repair it, or move it"
    with RunDirectory(tmp_path) as run_directory, pytest.raises(ValueError, match=message):
        run(run_directory)


@pytest.mark.message
def test_message_a_state_of_another_version(run: Run, tmp_path: Path):
    with RunDirectory(tmp_path) as run_directory:
        run(run_directory, ONE_STEP)
    whole = (tmp_path / STATE).read_bytes()
    (tmp_path / STATE).write_bytes(whole.replace(b'"format_version":"2"', b'"format_version":"9"'))
    message = "has format_version=9, and this package reads 2; give another folder to train from the first"
    with RunDirectory(tmp_path) as run_directory, pytest.raises(ValueError, match=message):
        run(run_directory)


def test_law_a_run_id_depends_on_the_settings_but_not_on_their_order():
    identity = {"seed": 0, "tokenizer": "ab"}
    assert run_id(identity) == run_id(dict(reversed(identity.items())))
    assert run_id(identity) != run_id(identity | {"seed": 1})
    assert len(run_id(identity)) == 12
