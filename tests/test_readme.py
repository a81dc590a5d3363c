"""The README is accurate: its code runs, and its commands and files exist."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from annotated_transformer.__main__ import main
from annotated_transformer.text import corpus as corpora

ROOT = Path(__file__).parent.parent
DOCUMENTS = ["README.md", "CONTRIBUTING.md"]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("unchecked")
def test_law_each_block_of_code_runs_and_gives_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(corpora, "TOY_PAIRS", 1009)
    ran: dict[str, dict[str, object]] = {}
    for code in blocks("python"):
        names = ran[code] = {}
        exec(compile(code.replace("steps=600", "steps=3"), "README.md", "exec"), names)
        for expression, said in re.findall(r"^(\S.*?)  # (\[.*\])$", code, re.MULTILINE):
            assert eval(expression, names) == ast.literal_eval(said)
    translation, model, training = ran
    assert "])  # ['Das " in translation
    assert [len(ranked) for ranked in eval("translator.nbest(['A book.'], 5)", ran[translation])] == [5]
    (shape,) = re.findall(r"logits = .*# \((.*?)\)", model)
    assert tuple(ran[model]["logits"].shape) == tuple(map(int, shape.split(",")))
    assert "steps=600" in training  # which takes a minute
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_law_every_extra_is_listed():
    table = README.partition("Extras add more:")[2].partition("\n\nThe package comes")[0]
    listed = re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines() if "|" in line))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert sorted(listed) == sorted(project["optional-dependencies"])


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
