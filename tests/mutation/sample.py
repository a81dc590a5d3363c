"""Measure how many wrong programs the tests notice, on a random sample.

`python -m tests.mutation.sample 100` draws 100 wrong programs (`draw.py`) and runs, for each of them, the
tests that execute the changed line: at first those of the file's own test file, then the others, the fastest
first, up to a minute of tests. A line that no test executes counts as survived, as does a program that is
equivalent to ours, so the rate has no target: compare it between two versions of the tests.

Which tests execute which line is recorded first, by running all tests once, or read from the folder of an
earlier record (`--record`). Subprocesses are not recorded.
"""

import argparse
import dataclasses
import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from coverage import CoverageData
from tqdm import tqdm

from tests.mutation import run
from tests.mutation.draw import PACKAGE, Change, all_changes, draw, still_there

ROOT = Path(__file__).parents[2]
BUDGET = 60.0  # seconds of tests for one wrong program, as measured when they were recorded
STAGES = {"unit": [run.CHECKED, *run.PLAIN], "messages": run.MESSAGE}
NOT_RUN = "not executed by any test"


@dataclass(frozen=True)
class Record:
    """Which tests execute which line, how long each test takes, and which of them test error messages."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]
    messages: frozenset[str] = frozenset()

    @classmethod
    def read(cls, folder: Path) -> "Record":
        """Read the record that `make_record` made."""
        data = CoverageData(str(folder / "coverage"))
        data.read()
        lines = {}
        for path in data.measured_files():
            file = path[path.rindex(f"/{PACKAGE}/") + 1 :]
            by_line = data.contexts_by_lineno(path)
            lines[file] = {
                line: sorted({c.rpartition("|")[0] for c in at if c}) for line, at in by_line.items()
            }
        unit, messages = (
            {f"{case.get('file')}::{case.get('name')}": float(case.get("time", "0")) for case in cases}
            for cases in (ElementTree.parse(folder / f"{name}.xml").iter("testcase") for name in STAGES)
        )
        return cls(lines, unit | messages, frozenset(messages))

    def tests(self, change: Change) -> list[str]:
        """Return the tests for a change, at most a minute of them.

        Lines outside functions are executed by the import; for these, all tests of the file count.
        """
        by_line = self.lines.get(change.file, {})
        found = by_line.get(change.line, [])
        if not found and not change.function:
            found = sorted({test for tests in by_line.values() for test in tests})
        path = Path(change.file)
        own = f"tests/{path.relative_to(PACKAGE).parent / f'test_{path.name}'}::"
        ranked = sorted(found, key=lambda test: (not test.startswith(own), self.seconds.get(test, 0.0), test))
        chosen, total = [], 0.0
        for test in ranked:
            total += self.seconds.get(test, 0.0)
            if chosen and total > BUDGET:
                break
            chosen.append(test)
        return chosen


def make_record(folder: Path, workers: int) -> None:
    """Run all unit and message tests once, and record which lines each executes."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "settings"
    settings.write_text(
        f"[run]\nbranch = True\nsource = {PACKAGE}\ndata_file = {folder / 'coverage'}\n", "utf-8"
    )
    for name, options in STAGES.items():
        command = [
            sys.executable, "-m", "pytest", "-q", "-n", str(workers), *options,
            "--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report=",
            "-o", "junit_family=xunit1", f"--junitxml={folder / name}.xml",
        ]  # fmt: skip
        if subprocess.run([*command, *["--cov-append"] * (name == "messages")], cwd=ROOT).returncode:
            raise SystemExit("the tests fail without any change, so nothing can be concluded")


def try_change(change: Change, tests: list[str], messages: frozenset[str]) -> str:
    """Return which test notices a change, or an empty string."""
    with run.changed(Path(change.file), change.applied):
        for options, chosen in (
            (run.SHAPES, [test for test in tests if test not in messages]),
            (run.MESSAGE, [test for test in tests if test in messages]),
        ):
            if chosen:
                killed, by = run.run_tests(options, chosen, 60 + 5 * BUDGET).verdict()
                if killed:
                    return by
                if "not found: " in by or f"status is {run.WRONG_PACKAGE}" in by:
                    raise SystemExit(f"{change.name()}: is the record of this version? {by}")
                if by.startswith("BROKEN"):  # the tests passed when they were recorded
                    return "pytest cannot run"
    return ""


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
    parser.add_argument("--record", type=Path, help="the folder of a record, made if it is not there")
    parser.add_argument("--again", type=Path, help="instead of a draw, the changes of an earlier report")
    parser.add_argument("--report", type=Path, help="write the results there, as JSON")
    arguments = parser.parse_args()
    folder = (arguments.record or ROOT / "_build/mutation").resolve()
    if not (folder / "messages.xml").exists() or not arguments.record:
        make_record(folder, arguments.workers)
    record = Record.read(folder)
    if arguments.again:
        earlier = [Change(**entry["change"]) for entry in json.loads(arguments.again.read_text("utf-8"))]
        changes = [*still_there(earlier, all_changes(ROOT)).values()]
        print(f"{len(changes)} of {len(earlier)} changes can still be made")
    else:
        print(f"SEED={arguments.seed}")
        changes = draw(ROOT, arguments.count, arguments.seed)
    results = try_all(changes, record, arguments.workers)
    if arguments.report:
        entries = [
            {"change": dataclasses.asdict(change), "by": by}
            for change, by in zip(changes, results, strict=True)
        ]
        arguments.report.write_text(json.dumps(entries, indent=1, ensure_ascii=False), "utf-8")
    killed = sum(by not in ("", NOT_RUN) for by in results)
    low, high = interval(killed, len(changes))
    print(
        f"{killed} of {len(changes)} noticed: {killed / len(changes):.1%} (95%: {low:.1%} to {high:.1%}); "
        f"{results.count(NOT_RUN)} {NOT_RUN}"
    )


def try_all(changes: list[Change], record: Record, workers: int) -> list[str]:
    """Try each change in a copy of the project, and print what notices it."""
    run.prepare(ROOT)
    with run.copies(ROOT, workers) as pool:
        tried = [
            pool.submit(try_change, change, tests, record.messages) if tests else None
            for change, tests in ((change, record.tests(change)) for change in changes)
        ]
        results = []
        for change, future in tqdm(zip(changes, tried, strict=True), total=len(changes), disable=None):
            results.append(future.result() if future else NOT_RUN)
            tqdm.write(f"{change.name()}\n    {results[-1] or run.SURVIVED}")
    return results


if __name__ == "__main__":
    main()
