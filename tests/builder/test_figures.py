"""Figures as files that other programs draw."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest

from builder import figures
from tests.targets import NOTEBOOKS, ROOT


def test_law_a_file_has_neither_variables_nor_functions_of_css():
    mixed = "color-mix(in srgb, var(--at-heat, #1f1147) 60%, var(--at-paper, var(--at-paper, #fefefe)))"
    path = f'<path style="fill: var(--at-ink, #1d2430); fill: {mixed}; a: b"/>'
    svg = f'<svg style="width:min(100%, 9px)" x="1">{path}</svg>'
    assert figures.plain(svg) == '<svg x="1"><path style="fill: #1d2430; a: b"/></svg>'


@pytest.mark.parametrize("path", NOTEBOOKS.values(), ids=lambda path: path.stem)
def test_law_every_figure_of_a_chapter_can_leave_the_page(path):
    for one in figures.drawings(path):
        text = figures.plain(one.svg)
        ElementTree.fromstring(text)
        assert not [sign for sign in ("var(", "color-mix(", "min(") if sign in text], one.number


def test_law_the_command_writes_the_figures_that_it_is_asked_for(tmp_path):
    command = [sys.executable, "-m", "builder.figures", str(tmp_path)]
    subprocess.run([*command, "4.1"], cwd=ROOT, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["figure-4-1.svg"]
    failed = subprocess.run([*command, "4.99"], cwd=ROOT, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "there is no figure 4.99; there are 1.1, 1.2" in failed.stderr
