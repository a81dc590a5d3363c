"""Committed files contain no path of the machine on which they were made."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
IGNORED = re.compile(r"\.(?!github|ci).*|_build|_lab|_student|__pycache__|.*\.egg-info")
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:home|root|Users|work|tmp|private)/\w+")


def text_files() -> dict[str, str]:
    """Return the content of each text file of the project, except for ignored folders.

    In a worktree of git, .git is a file with the path of the repository.
    """
    found = {}
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not IGNORED.fullmatch(name)]
        for path in (Path(folder) / name for name in names if name not in (Path(__file__).name, ".git")):
            raw = path.read_bytes()
            if b"\0" not in raw:
                found[str(path.relative_to(ROOT))] = raw.decode("utf-8", "replace")
    return found


def test_law_no_committed_file_holds_a_path_of_a_machine():
    files = text_files()
    assert {"README.md", "Makefile", "chapters/glossary.md"} <= set(files)
    assert any(name.startswith("annotated_transformer/book/results/") for name in files)
    found = {name: MACHINE_PATH.findall(text) for name, text in files.items()}
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_law_a_path_of_a_machine_is_recognized():
    for text in ('"weights": "/home/me/book/weights"', "File /tmp/x.py, line 3", "/Users/me"):
        assert MACHINE_PATH.search(text), text
    for text in ("https://example.org/home/page", "../work/notes and ~/work/notes", "on/tmp"):
        assert not MACHINE_PATH.search(text), text
