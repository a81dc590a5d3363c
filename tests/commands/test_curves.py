"""The command `curves` writes an image with a description, under the given name."""

import errno
import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing.run_directory import METRICS_FILE
from annotated_transformer.plotting import reports, training_curves

LINE = (
    '{"step": %d, "epoch": 1, "training_loss": 7.25, "validation_loss": 5.5, "lr": 0.001, '
    '"gradient_norm": 1.5, "encoder_cosine": 0.99, "cross_attention_entropy": 0.75, '
    '"tokens_per_second": 9.5}\n'
)


@pytest.fixture
def training(tmp_path: Path) -> Path:
    (tmp_path / METRICS_FILE).write_text(LINE % 11 + LINE % 23)
    return tmp_path


def test_law_the_image_contains_the_printed_description_with_the_peak_of_the_schedule(
    training: Path, capsys, monkeypatch
):
    rates = {11: 0.001, 18: 0.018, 23: 0.001}  # the first and the last are the reported ones
    for module in (reports, training_curves):  # which imports it, perhaps only now
        monkeypatch.setattr(module, "read_schedule", lambda folder: lambda step: rates.get(step, 0.002))
    file = training / "curves.svg"
    assert command_line.main(["curves", str(training), "--to", str(file)]) == 0
    words = capsys.readouterr().out.strip()
    assert "Encoder cosine: from 0.99 at step 11 to 0.99 at step 23" in words
    assert "The learning rate rises to 0.018 at step 18, then falls." in words
    root = ElementTree.parse(file).getroot()
    assert root.tag.endswith("svg")
    assert (root.get("role"), root.get("aria-label")) == ("img", words)
    assert "var(" not in file.read_text(encoding="utf-8")  # programs other than browsers show its colors


def test_law_the_file_extension_selects_the_format_and_the_name_is_kept(training: Path):
    before = {path.name for path in training.iterdir()}
    formats = {".PNG": b"\x89PNG", ".pdf": b"%PDF", "": b"<", ".v2.SVG": b"<"}
    for ending, start in formats.items():
        file = training / f"curves{ending}"
        assert command_line.main(["curves", str(training), "--to", str(file)]) == 0
        assert file.read_bytes().startswith(start)
    assert {path.name for path in training.iterdir()} == before | {f"curves{ending}" for ending in formats}


def test_law_a_run_that_diverged_can_be_plotted(training: Path):
    (training / METRICS_FILE).write_text((LINE % 11 + LINE % 23).replace("5.5", "2324215.0"))
    assert command_line.main(["curves", str(training), "--to", str(training / "curves.svg")]) == 0


@pytest.mark.message
@pytest.mark.parametrize(
    ("to", "sentence"),
    [
        ("curves.doc", "curves.doc ends in .doc, which is no image format; choose .svg, .png or .pdf\n"),
        ("curves.pgf", "curves.pgf ends in .pgf, which is no image format; choose .svg, .png or .pdf\n"),
        ("nowhere/curves.svg", "cannot be written: there is no folder"),
        ("loop.png", "loop.png is not a regular file; give another name"),
    ],
)
def test_message_a_file_that_cannot_be_written(training: Path, capsys, to: str, sentence: str):
    (training / "loop.png").symlink_to(training / "loop.png")
    assert command_line.main(["curves", str(training), "--to", str(training / to)]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.message
@pytest.mark.parametrize(
    ("ending", "error"),
    [
        ("svg", RuntimeError("no latex")),
        ("svg", FileNotFoundError("no gs")),
        ("jpg", OSError("no encoder")),
        ("jpg", KeyError("JPEG")),
    ],
)
def test_message_matplotlib_lacks_another_program(training, capsys, monkeypatch, ending, error):
    def fail(*values: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(Figure, "savefig", fail)
    to = training / f"curves.{ending}"
    to.write_text("older")
    assert command_line.main(["curves", str(training), "--to", str(to)]) == 2
    sentence = f"error: Matplotlib cannot write .{ending} here ({error}); choose .svg, .png or .pdf, or"
    assert sentence in capsys.readouterr().err
    assert to.read_text() == "older"


@pytest.mark.message
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_message_the_disk_is_full(training: Path, capsys, monkeypatch, ending: str):
    def full(*values: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    to = training / f"curves.{ending}"
    to.write_text("older")
    monkeypatch.setattr(os, "fsync", full)
    assert command_line.main(["curves", str(training), "--to", str(to)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: cannot write to {to} (No space left on device); make room, or write to")
    assert [path.name for path in training.glob("curves*")] == [to.name]
    assert to.read_text() == "older"


@pytest.mark.message
def test_message_without_matplotlib(training: Path, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("annotated_transformer.plotting")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert command_line.main(["curves", str(training), "--to", str(training / "curves.svg")]) == 2
    said = capsys.readouterr().err
    way_out = "run pip install '.[plot]' in the folder of this book"
    assert said == f"error: drawing needs matplotlib, which is not installed; {way_out}\n"
