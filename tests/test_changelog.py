"""The changelog follows the format it names and lists every command and chapter."""

import re
import tomllib
from pathlib import Path

from annotated_transformer.__main__ import COMMANDS

ROOT = Path(__file__).parent.parent
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_law_the_format_is_keep_a_changelog():
    first, *released = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert first == "Unreleased"
    assert [title for title in released if not re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", title)] == []
    kinds = set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE))
    assert kinds
    assert kinds <= KINDS
    assert ("No version has been released yet." in CHANGELOG) is (released == [])
    if released:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert released[0].split()[0] == project["version"]


def test_law_every_command_and_chapter_is_listed():
    listed = CHANGELOG.partition("- **The command line**")[2].partition("\n- ")[0]
    assert {f"`{name}`" for name in COMMANDS} <= set(re.findall(r"`[a-z]+`", listed))
    titles = re.findall(r"^\s+title: (.+)$", (ROOT / "_toc.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert titles
    assert [title for title in titles if title.lower() not in " ".join(CHANGELOG.lower().split())] == []
