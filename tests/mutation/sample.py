"""Measure how many wrong programs the tests notice, on a random sample.

`python -m tests.mutation.sample 100` draws 100 wrong programs (`draw.py`) and runs, for each of them, the
tests that execute the changed line: at first those of the file's own test file, then the others, the fastest
first, up to a minute of tests. A line that no test executes counts as survived, as does a program that is
equivalent to ours, so the rate has no target: compare it between two versions of the tests.

Which tests execute which line is recorded first, by running all tests of `make unit` once, or those of some
files (`--tests`), or read from the folder of an earlier record (`--record`). Subprocesses are not recorded.
"""

import argparse
import dataclasses
import json
import math
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from xml.etree import ElementTree

from coverage import CoverageData
from tqdm import tqdm

from tests.mutation.draw import PACKAGE, Change, all_changes, draw, still_there

ROOT = Path(__file__).parents[2]
BUDGET = 60.0  # seconds of tests for one wrong program, as measured when they were recorded
PYTEST = [
    sys.executable, "-m", "pytest", "-q", "-p", "no:nbval", "-p", "no:cacheprovider",
    f"--jaxtyping-packages={PACKAGE},beartype.beartype",
    "-m", "not page and not slow and not cuda and not hosts",
]  # fmt: skip
NOT_COPIED = shutil.ignore_patterns(".*", "_build", "_lab", "_student", "__pycache__", "*.egg-info")
TESTS_FAILED, NOTHING_RUN = 1, (4, 5)  # exit statuses of pytest
NOT_RUN, SURVIVED = "not executed by any test", "SURVIVED"


@dataclass(frozen=True)
class Record:
    """Which tests execute which line, and how long each test takes."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    @classmethod
    def read(cls, folder: Path) -> "Record":
        """Read the record that `make_record` made."""
        data = CoverageData(str(folder / "coverage"))
        data.read()
        lines = {
            path[path.rindex(f"/{PACKAGE}/") + 1 :]: {
                line: sorted({context.rpartition("|")[0] for context in contexts if context})
                for line, contexts in data.contexts_by_lineno(path).items()
            }
            for path in data.measured_files()
        }
        cases = ElementTree.parse(folder / "tests.xml").iter("testcase")
        seconds = {f"{case.get('file')}::{case.get('name')}": float(case.get("time", "0")) for case in cases}
        return cls(lines, seconds)

    def tests(self, change: Change) -> list[str]:
        """Return the tests for a change, at most a minute of them.

        Lines outside functions are executed by the import; for these, all tests of the file count.
        """
        by_line = self.lines.get(change.file, {})
        executing = set(by_line.get(change.line, []))
        if not executing and not change.function:
            executing = {test for tests in by_line.values() for test in tests}
        path = Path(change.file)
        mirrored = f"tests/{path.relative_to(PACKAGE).parent / f'test_{path.name}'}::"
        seconds = {test: self.seconds.get(test, 0.0) for test in executing}
        ranked = sorted(executing, key=lambda test: (not test.startswith(mirrored), seconds[test], test))
        totals = accumulate(seconds[test] for test in ranked)
        return [test for test, total in zip(ranked, totals, strict=True) if total <= BUDGET] or ranked[:1]


def make_record(folder: Path, tests: list[str], workers: int) -> None:
    """Run the tests once, and record which lines each executes."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        *PYTEST, "-n", str(workers), "-o", "junit_family=xunit1", f"--junitxml={folder / 'tests.xml'}",
        f"--cov={PACKAGE}", "--cov-branch", "--cov-context=test", "--cov-report=", *tests,
    ]  # fmt: skip
    environment = {**os.environ, "COVERAGE_FILE": str(folder / "coverage")}
    if subprocess.run(command, cwd=ROOT, env=environment).returncode:
        (folder / "tests.xml").unlink(missing_ok=True)
        raise SystemExit("the tests fail without any change, so nothing can be concluded")


@contextmanager
def copies(workers: int) -> Iterator["queue.Queue[Path]"]:
    """Yield copies of the project, one for each worker, which have our corpora beside them."""
    with tempfile.TemporaryDirectory() as folder:
        projects: queue.Queue[Path] = queue.Queue()
        if (corpora := ROOT.parent / "shared").is_dir():
            (Path(folder) / "shared").symlink_to(corpora)
        for worker in range(workers):
            projects.put(shutil.copytree(ROOT, Path(folder) / str(worker), ignore=NOT_COPIED))
        yield projects


def put(path: Path, text: str) -> None:
    """Write a module without its bytecode, which Python would reuse for a text of the same size and time."""
    path.write_text(text, "utf-8")
    for bytecode in path.parent.glob(f"__pycache__/{path.stem}.*"):
        bytecode.unlink()


def run_tests(copy: Path, tests: list[str]) -> tuple[int | None, str]:
    """Return the exit status of tests, None if they took too long, and what they printed."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1", "PYTEST_ADDOPTS": ""}
    process = subprocess.Popen(
        [*PYTEST, "-x", "-rfE", "--tb=no", *tests],
        cwd=copy, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,  # so that it can be stopped along with its subprocesses
    )  # fmt: skip
    try:
        printed, _ = process.communicate(timeout=60 + 5 * BUDGET)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]
    return process.returncode, printed


def try_change(copy: Path, change: Change, tests: list[str]) -> str:
    """Return what notices a change, or SURVIVED."""
    path = copy / change.file
    source = path.read_text("utf-8")
    put(path, change.applied(source))
    try:
        status, printed = run_tests(copy, tests)
    finally:
        put(path, source)
    if status == 0:
        return SURVIVED
    if status in NOTHING_RUN and ("not found: " in printed or "no tests ran" in printed):
        raise SystemExit(f"{change.name()}: is the record of this version? {printed[-2000:]}")
    failed = [line for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if failed:
        return failed[0]
    return "timed out" if status is None else f"pytest cannot run (status {status})"


def try_all(changes: list[Change], record: Record, workers: int) -> list[str]:
    """Try each change in a copy of the project, and print what notices it."""
    with copies(workers) as free, ThreadPoolExecutor(workers) as pool:

        def tried(change: Change) -> str:
            if not (tests := record.tests(change)):
                return NOT_RUN
            copy = free.get()
            try:
                return try_change(copy, change, tests)
            finally:
                free.put(copy)

        results = []
        for change, result in tqdm(
            zip(changes, pool.map(tried, changes), strict=True), total=len(changes), disable=None
        ):
            results.append(result)
            tqdm.write(f"{change.name()}\n    {result}")
    return results


def interval(killed: int, total: int) -> tuple[float, float]:
    """Return the bounds of Wilson's 95% confidence interval of a rate."""
    z, rate = 1.96, killed / total
    center = rate + z * z / (2 * total)
    margin = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    return (center - margin) / (1 + z * z / total), (center + margin) / (1 + z * z / total)


def main() -> None:
    """Draw, try, and print the rate and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--folders", nargs="*", default=[], help="of the package, to draw from (default: all)"
    )
    parser.add_argument("--tests", nargs="*", default=[], help="files or folders to record (default: all)")
    parser.add_argument("--record", type=Path, help="the folder of a record, made if it is not there")
    parser.add_argument("--again", type=Path, help="instead of a draw, the changes of an earlier report")
    parser.add_argument("--report", type=Path, help="write the results there, as JSON")
    arguments = parser.parse_args()
    folder = (arguments.record or ROOT / "_build/mutation").resolve()
    if not (folder / "tests.xml").exists() or not arguments.record:
        make_record(folder, arguments.tests, arguments.workers)
    record = Record.read(folder)
    if arguments.again:
        earlier = [Change(**entry["change"]) for entry in json.loads(arguments.again.read_text("utf-8"))]
        changes = [*still_there(earlier, all_changes(ROOT)).values()]
        print(f"{len(changes)} of {len(earlier)} changes can still be made")
    else:
        print(f"SEED={arguments.seed}")
        changes = draw(ROOT, arguments.count, arguments.seed, arguments.folders)
    results = try_all(changes, record, arguments.workers)
    if arguments.report:
        entries = [
            {"change": dataclasses.asdict(change), "by": by}
            for change, by in zip(changes, results, strict=True)
        ]
        arguments.report.write_text(json.dumps(entries, indent=1, ensure_ascii=False), "utf-8")
    killed = sum(by not in (SURVIVED, NOT_RUN) for by in results)
    low, high = interval(killed, len(changes))
    print(
        f"{killed} of {len(changes)} noticed: {killed / len(changes):.1%} (95%: {low:.1%} to {high:.1%}); "
        f"{results.count(NOT_RUN)} {NOT_RUN}"
    )


if __name__ == "__main__":
    main()
