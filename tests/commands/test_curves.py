"""The command `curves` writes an image with a description."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from annotated_transformer.checkpointing.run_directory import METRICS_FILE

LINE = (
    '{"step": %d, "epoch": 1, "training_loss": 7.25, "validation_loss": 5.5, "lr": 0.001, '
    '"gradient_norm": 1.5, "encoder_cosine": 0.99, "cross_attention_entropy": 0.75, '
    '"tokens_per_second": 9.5}\n'
)


@pytest.fixture
def training(tmp_path: Path) -> Path:
    (tmp_path / METRICS_FILE).write_text(LINE % 11 + LINE % 23)
    return tmp_path


def test_law_the_image_contains_the_printed_description(training: Path, run):
    file = training / "curves.svg"
    words = run("curves", training, "--to", file)[0].strip()
    assert "Encoder cosine: from 0.99 at step 11 to 0.99 at step 23" in words
    root = ElementTree.parse(file).getroot()
    assert root.tag.endswith("svg")
    assert (root.get("role"), root.get("aria-label")) == ("img", words)
    assert "var(" not in file.read_text(encoding="utf-8")  # programs other than browsers show its colors


def test_law_the_file_extension_selects_the_format_and_the_name_is_kept(training: Path, run):
    before = {path.name for path in training.iterdir()}
    formats = {".PNG": b"\x89PNG", ".pdf": b"%PDF", "": b"<", ".v2.SVG": b"<"}
    for ending, start in formats.items():
        file = training / f"curves{ending}"
        run("curves", training, "--to", file)
        assert file.read_bytes().startswith(start)
    assert {path.name for path in training.iterdir()} == before | {f"curves{ending}" for ending in formats}
