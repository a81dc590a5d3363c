"""Print the test files of what differs from the last commit: `make quick` runs them.

`annotated_transformer/x/y.py` is tested by `tests/x/test_y.py` and `tests/x/test_y_….py`, `builder/y.py` by
those below `tests/builder/`, and both by a file with the name of their folder, such as a chapter's room.
A changed test file runs itself.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGED = ("git diff --name-only HEAD", "git ls-files --others --exclude-standard")


def changed() -> list[str]:
    """Return the paths of the files that differ from the last commit or are new."""
    outputs = [subprocess.check_output(each.split(), cwd=ROOT, text=True) for each in CHANGED]
    return [path for output in outputs for path in output.splitlines()]


def test_files(paths: Iterable[str]) -> set[Path]:
    """Return the test files of Python files, and say which of these have none."""
    files = set()
    for path in map(Path, paths):
        if path.suffix == ".py" and path.parts[0] in ("annotated_transformer", "builder", "tests"):
            places = [place for place in path.with_suffix("").parts if place != "annotated_transformer"]
            folder, name = ROOT.joinpath("tests", *places[:-1]), places[-1]
            tests_of_path = {*folder.glob(f"test_{name}.py"), *folder.glob(f"test_{name}_*.py")}
            tests_of_path |= {*folder.parent.glob(f"test_{folder.name}.py")}
            if path.parts[0] == "tests":
                tests_of_path = {ROOT / path} & {*ROOT.glob("tests/**/test_*.py")}
            elif not tests_of_path:
                print(f"{path}: no test file has its name, so only `make test` tests it", file=sys.stderr)
            files |= tests_of_path
    return {file.relative_to(ROOT) for file in files}


if __name__ == "__main__":
    print(*sorted(test_files(changed())))
