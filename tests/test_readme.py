"""The README is accurate: its code runs, and its commands and files exist."""

import re
from pathlib import Path

import pytest

from annotated_transformer.__main__ import main

ROOT = Path(__file__).parent.parent
DOCUMENTS = ["README.md", "CONTRIBUTING.md"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))


def blocks(language: str) -> list[str]:
    """Return the README's code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_law_the_code_runs_and_gives_the_shape_it_names():
    (code,) = blocks("python")
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    (shape,) = re.findall(r"logits = .*# \((.*?)\)", code)
    assert tuple(names["logits"].shape) == tuple(map(int, shape.split(",")))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_law_every_make_target_named_exists(document: str):
    text = (ROOT / document).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE))
    assert {"book", "test"} <= named
    assert named <= TARGETS


@pytest.mark.parametrize("document", DOCUMENTS)
def test_law_every_file_named_exists(document: str):
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    folders = re.findall(r"^\| `([\w/]+/)`", text, re.MULTILINE)
    assert links
    assert [name for name in [*links, *folders] if not list(ROOT.glob(name.rstrip("/")))] == []


def test_law_the_command_line_accepts_the_commands_shown(capsys: pytest.CaptureFixture[str]):
    shell = "\n".join(blocks("sh"))
    commands = re.findall(r"^annotated-transformer (\w+)(.*)$", shell, re.MULTILINE)
    assert {"translate", "train", "evaluate"} <= {command for command, _ in commands}
    for command, rest in commands:
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])
        shown = capsys.readouterr().out
        assert set(re.findall(r"--[\w-]+", rest)) <= set(re.findall(r"--[\w-]+", shown))
