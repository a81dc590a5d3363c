"""Damaged states and metrics are rejected, and other format versions; a run's id depends on its settings."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from annotated_transformer.checkpointing.training_state_file import STATE_FILE, run_id
from tests.tiny_run import BRIEF, Run

DAMAGED = r"training\.safetensors is damaged \(.+\); give another folder to train from the first step"
VERSION = "has format_version=9, and this package reads 3; give another folder to train from the first"
DAMAGES = {
    "cut": (lambda data: data[: len(data) // 2], DAMAGED),
    "a bit of a weight": (lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], DAMAGED),
    "a name of its header": (lambda data: data.replace(b'"digest"', b'"digesd"'), DAMAGED),
    "another": (lambda data: data.replace(b'"state":', b'"statd":'), DAMAGED),
    "the step": (lambda data: data.replace(rb"\"step\": 1,", rb"\"step\": 0,"), DAMAGED),
    "version": (lambda data: data.replace(b'"format_version":"3"', b'"format_version":"9"'), VERSION),
}


@pytest.mark.message
@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_message_a_damaged_state(run: Run, tmp_path: Path, damage: Callable[[bytes], bytes], message: str):
    run.into(tmp_path, dataclasses.replace(BRIEF, steps=1))
    whole = (tmp_path / STATE_FILE).read_bytes()
    (tmp_path / STATE_FILE).write_bytes(damage(whole))
    assert damage(whole) != whole
    with pytest.raises(ValueError, match=message):
        run.into(tmp_path)


@pytest.mark.message
@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        *((line, r" is damaged \(.+\): each line must be JSON with a st") for line in (b"{", b'{"loss": 1}')),
        (b'{"step": 1}\n\xff', ", line 2: byte 1 is 0xff, which is not UTF-8"),
    ],
)
def test_message_damaged_metrics(run: Run, tmp_path: Path, line: bytes, sentence: str):
    (tmp_path / "metrics.jsonl").write_bytes(line + b"\n")
    with pytest.raises(ValueError, match=rf"metrics\.jsonl{sentence}"):
        run.into(tmp_path)


def test_law_the_state_of_a_tied_model_is_that_of_versions_without_the_field(run: Run, tmp_path: Path):
    """So a run that such a version started resumes."""
    run.into(tmp_path, dataclasses.replace(BRIEF, steps=1))
    state = (tmp_path / STATE_FILE).read_bytes()
    assert b"output_bias" in state
    assert b"tied_output" not in state


def test_law_a_run_id_depends_on_the_settings_but_not_on_their_order():
    identity = {"seed": 0, "tokenizer": "ab"}
    assert run_id(identity) == run_id(dict(reversed(identity.items())))
    assert run_id(identity) != run_id(identity | {"seed": 1})
    assert len(run_id(identity)) == 12
