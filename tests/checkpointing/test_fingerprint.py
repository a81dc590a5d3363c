"""Fingerprints: equal for equal data, and different as soon as one value differs."""

import pytest

from annotated_transformer.checkpointing.files import fingerprint
from annotated_transformer.checkpointing.training_state import run_id

DATA = ["ein", 1, 2.5, None, ["Wort", "Wörter"]]


def test_law_a_fingerprint_does_not_depend_on_the_session():
    """The digest is hard-coded to detect an algorithm that has changed or depends on the session."""
    assert fingerprint(DATA) == "47d0dbb50f2b"


@pytest.mark.parametrize(
    "other",
    [
        DATA[:-1],
        DATA[::-1],
        ["ein", "1", 2.5, None, ["Wort", "Wörter"]],
        ["ein", 1, 2.5, "None", ["Wort", "Wörter"]],
        ["ein", 1, 2.5, None, ["WortWörter"]],
        ["ein", 1, 2.5, None, "Wort", "Wörter"],
    ],
)
def test_law_different_data_has_a_different_fingerprint(other: list[object]):
    assert fingerprint(other) != fingerprint(DATA)


def test_law_a_run_id_depends_on_the_settings_but_not_on_their_order():
    identity = {"seed": 0, "tokenizer": "ab"}
    assert run_id(identity) == run_id(dict(reversed(identity.items())))
    assert run_id(identity) != run_id(identity | {"seed": 1})
    assert len(run_id(identity)) == 12
