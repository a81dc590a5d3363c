"""Apply each mutant in mutants.toml to the project: each one must make a test or a chapter fail.

`python tests/mutation/run.py [words]` runs the mutants whose names contain one of the words, or all.
A mutant is

    [[mutant]]
    name = "short description of the bug"
    file = "annotated_transformer/…"
    old = "text that occurs exactly once in the file"
    new = "the text that replaces it"
    tests = ["tests/….py::test_law_…"]  # at least one must fail; or chapters: ["chapters/….ipynb"]
    message = true  # if the tests are marked `message`: they run without the shape checker
    slow = true  # if the tests take longer than importing the package with the shape checker

A mutant is killed if a test fails, if the tests can no longer be collected, or if they time out; not if
pytest is called incorrectly or finds no tests. The output shows which. If it survives, but a test is skipped,
as for want of a browser, it counts as not tried. Nobody has to edit the list along with the package: a mutant
whose text is no longer in its file is only named, as long as these are at most a tenth of the list.

First, the same tests must pass without any mutation. `--green` means that they have just passed, as in
`make test`; then only one test per file and one chapter are run, to check that they run here as well.

Importing the package takes a third of the time without the shape checker, so the tests run without it first,
and with it only if the mutant survives. At the end, the tests that failed without the checker must pass
without it on the unmodified code. Slow tests run only with the checker, which spares them that last run.

Importing PyTorch takes longer than most tests, so it is done once: each pytest run is a fork of a process
that has imported the modules listed in mutants.toml, but nothing from the package. The package comes from a
copy of the project, one per worker, to which the mutant is applied. The copy keeps its bytecode between runs.
Python reuses bytecode if the source's size and modification time (in seconds) are the same, so each mutant
gets its own modification time, and the restored file gets its old one back.

A mutant of a script, which Python does not import, needs no fresh process: each worker has one process that
runs the tests of scripts one after another, and keeps the browser open. So nothing in the package or the
tests may cache the text of a script: its mutants would survive.
"""

import argparse
import contextlib
import gc
import importlib
import itertools
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import builtin_plugins
from tqdm import tqdm

PACKAGE = "annotated_transformer"
NOT_COPIED = shutil.ignore_patterns(".*", "_build", "_lab", "_student", "__pycache__", "*.egg-info")
SECONDS = 240  # the time limit of one pytest run
GONE = 0.1  # the share of the list that may name text which is no longer there
TESTS = 20  # per run without any mutation
FORK = multiprocessing.get_context("fork")
WRONG_PACKAGE, CRASHED = 70, 71  # exit statuses that pytest does not use
NUMBERS = itertools.count(1)  # of this worker's mutants
SURVIVED, NOT_TRIED = "SURVIVED", "not tried: "

# Each kind of run loads only the plugin it needs: importing the others takes longer than most tests.
QUIET = ["-x", "-q", "-rfE", "--tb=no", "--no-header", "-p", "no:cacheprovider"]
CHECKED = f"--jaxtyping-packages={PACKAGE},beartype.beartype"
PLAIN = ["-m", "not message and not page"]
SHAPES = ["-p", "jaxtyping._pytest_plugin", CHECKED, *PLAIN]
MESSAGE = ["-m", "message"]
CHAPTER = ["-p", "nbval.plugin", "--nbval", "--nbval-sanitize-with", "chapters/nbval_sanitize.cfg"]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A file in which `new` replaces `old`, and the tests that must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: list[str]
    message: bool = False
    slow: bool = False

    def options(self) -> list[str]:
        """Return the pytest options that its tests run with on unmodified code."""
        chapter = all(test.partition("::")[0].endswith(".ipynb") for test in self.tests)
        return CHAPTER if chapter else MESSAGE if self.message else SHAPES

    def applies(self, root: Path) -> bool:
        """Return whether the text to be replaced is still in the file."""
        path = root / self.file
        return path.is_file() and self.old in path.read_text(encoding="utf-8")

    def applied(self, source: str) -> str:
        """Return the file's text with the mutation applied; if it is Python, it must still be valid."""
        found = source.count(self.old)
        if found != 1:
            raise ValueError(f"the old text occurs {found} times in {self.file}, not once: {self.old!r}")
        if self.old == self.new:
            raise ValueError(f"old and new text are the same: {self.old!r}")
        text = source.replace(self.old, self.new)
        try:
            if self.file.endswith(".py"):
                compile(text, self.file, "exec")
        except SyntaxError as error:
            raise ValueError(f"the mutant is not valid Python: {error}") from error
        return text


def enter_copy(root: Path, folder: Path) -> None:
    """Copy the project, make the copy the working directory, and import the package from there."""
    copy = shutil.copytree(root, folder / str(os.getpid()), ignore=NOT_COPIED)
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    os.environ["PYTHONPATH"] = str(copy)  # for subprocesses of tests and the chapters' kernels
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the copy keeps its bytecode
    sys.dont_write_bytecode = False


def put(path: Path, text: str, changed: float) -> None:
    """Atomically replace a file's text and set its modification time."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8")
    shutil.copymode(path, new)
    os.utime(new, (changed, changed))
    new.replace(path)


@contextlib.contextmanager
def copies(root: Path, workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, each in its own copy of the project, which has our corpora beside it."""
    with tempfile.TemporaryDirectory() as folder:
        home = root.resolve(), Path(folder).resolve()
        if (corpora := home[0].parent / "shared").is_dir():
            (home[1] / "shared").symlink_to(corpora)
        with ProcessPoolExecutor(workers, FORK, enter_copy, home) as pool:
            yield pool


@contextlib.contextmanager
def changed(path: Path, change: Callable[[str], str]) -> Iterator[None]:
    """Change the text of a file, and restore the file at the end."""
    source, time_changed = path.read_text(encoding="utf-8"), int(path.stat().st_mtime)
    put(path, change(source), time_changed + next(NUMBERS))
    try:
        yield
    finally:
        put(path, source, time_changed)


@dataclass(frozen=True)
class Run:
    """The result of a pytest run: its exit status (None if it timed out), first failure, and first skip."""

    status: int | None
    phase: str = ""  # of the failure: "collect", "setup", "call", or "teardown"
    failed: str = ""
    skipped: str = ""  # why

    def verdict(self) -> tuple[bool, str]:
        """Return whether the mutant was killed, and by what."""
        if self.status is None:
            return True, "timed out (killed by the time limit)"
        if self.failed and self.status != WRONG_PACKAGE:
            # Without the mutation it can be collected, so the mutant is the cause.
            return True, self.failed + " (cannot be collected)" * (self.phase == "collect")
        if self.status == 0:
            return False, NOT_TRIED + self.skipped if self.skipped else SURVIVED
        return False, f"BROKEN: pytest's exit status is {self.status}: {printed_text().strip()[-3000:]}"


class FirstFailure:
    """A pytest plugin that records the first failure, and the reason for the first skip."""

    phase = failed = skipped = ""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a file or a class that cannot be collected."""
        self._note(report, "collect")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a failed phase of a test."""
        self._note(report, report.when or "call")

    def _note(self, report: pytest.CollectReport | pytest.TestReport, phase: str) -> None:
        if report.failed and not self.failed:
            self.phase, self.failed = phase, report.nodeid
        if report.skipped and not self.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.skipped = reason.removeprefix("Skipped: ")


def run_pytest(options: list[str], tests: list[str]) -> Run:
    """Run pytest until the first failure; redirect all output to a file."""
    with open("printed", "wb") as printed:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
    first = FirstFailure()
    try:
        status = int(pytest.main([*QUIET, *options, *tests], plugins=[first]))
    except BaseException:  # such as one that pytest raises at its end
        traceback.print_exc()
        status = CRASHED
    ours = [m for name, m in sys.modules.items() if name.partition(".")[0] == PACKAGE]
    if strangers := [m.__file__ for m in ours if not Path(str(m.__file__)).is_relative_to(Path.cwd())]:
        print(f"not imported from the copy: {strangers}")
        status = WRONG_PACKAGE
    sys.stdout.flush()
    return Run(status, first.phase, first.failed, first.skipped)


def printed_text() -> str:
    """Return the output of the last pytest run."""
    return Path("printed").read_text(encoding="utf-8", errors="replace")


def in_fork(result: Connection, options: list[str], tests: list[str]) -> None:
    """Run pytest once and send back the result."""
    os.setsid()  # so that it can be stopped along with its subprocesses
    result.send(run_pytest(options, tests))


def run_tests(options: list[str], tests: list[str], seconds: float) -> Run:
    """Run pytest in a new process."""
    result, theirs = FORK.Pipe(duplex=False)
    fork = FORK.Process(target=in_fork, args=(theirs, options, tests))
    fork.start()
    theirs.close()
    try:
        fork.join(seconds)
        if fork.is_alive():
            return Run(None)
        with contextlib.suppress(EOFError):  # it ended without sending a result, possibly with status 0
            if result.poll():
                return result.recv()
        return Run(fork.exitcode or CRASHED)
    finally:
        result.close()
        stop(fork)


def stop(process: ForkProcess) -> None:
    """Stop a process and its subprocesses."""
    if process.is_alive():
        os.killpg(process.pid, signal.SIGKILL)
    process.join()


def run_each(theirs: Connection, jobs: Connection) -> None:
    """Run pytest for each job received and send back the result; the tests share a browser."""
    theirs.close()
    os.setsid()
    os.environ["KEEP_BROWSER"] = "1"
    with contextlib.suppress(EOFError):  # the worker has exited
        while True:
            jobs.send(run_pytest(*jobs.recv()))


@dataclass
class ScriptRunner:
    """This worker's process for the tests of scripts; restarted if it has ended."""

    process: ForkProcess | None = None
    jobs: Connection | None = None

    def run(self, options: list[str], tests: list[str], seconds: float) -> Run:
        """Run pytest there; retry in a new process if that one crashes or a fixture fails (the browser?)."""
        run = self._run(options, tests, seconds)
        if run.status is None or (run.phase in ("", "collect", "call") and run.status != CRASHED):
            return run
        return run_tests(options, tests, seconds)

    def _run(self, options: list[str], tests: list[str], seconds: float) -> Run:
        if self.process is None or self.jobs is None:
            self.jobs, theirs = FORK.Pipe()
            self.process = FORK.Process(target=run_each, args=(self.jobs, theirs), daemon=True)
            self.process.start()
            theirs.close()
        try:
            self.jobs.send((options, tests))
            if self.jobs.poll(seconds):
                run: Run = self.jobs.recv()
                return run
            run = Run(None)
        except (EOFError, OSError):
            run = Run(CRASHED)
        stop(self.process)
        self.jobs.close()
        self.process = self.jobs = None
        return run


SCRIPTS = ScriptRunner()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a mutant; `unchecked` are the tests that failed without the shape checker."""

    killed: bool
    line: str
    tried: bool = True
    unchecked: tuple[str, ...] = ()
    script: bool = False


def try_mutant(mutant: Mutant, seconds: float) -> Outcome:
    """Apply the mutant to the copy, run the tests that must fail, and restore the copy."""
    path, start = Path(mutant.file), time.monotonic()
    unchecked: tuple[str, ...] = ()
    script = path.suffix == ".js"
    try:
        with changed(path, mutant.applied):
            options = mutant.options()
            first = options is SHAPES and not mutant.slow
            if first:
                killed, by = (SCRIPTS.run if script else run_tests)(PLAIN, mutant.tests, seconds).verdict()
                unchecked = (by,) if killed and "::" in by else (*mutant.tests,) * killed
            if not first or not killed:
                killed, by = run_tests(options, mutant.tests, seconds).verdict()
    except ValueError as error:
        killed, by = False, f"BROKEN: {error}"
    line = f"{time.monotonic() - start:5.1f} s  {by}"
    tried = not by.startswith(NOT_TRIED)
    return Outcome(killed=killed, line=line, tried=tried, unchecked=unchecked, script=script)


@dataclass(frozen=True)
class Control:
    """A run without any mutation; `script` marks the tests of scripts."""

    options: list[str]
    tests: list[str]
    script: bool

    def red(self, seconds: float) -> str:
        """Return the output if a test fails without any mutation: such a test kills nothing."""
        status = (SCRIPTS.run if self.script else run_tests)(self.options, self.tests, seconds).status
        ended = "timed out" if status is None else f"status {status}"
        return "" if status == 0 else f"{printed_text()[-3000:]}\n{ended}\n"


def controls(mutants: list[Mutant], *, green: bool) -> list[Control]:
    """Return the runs without any mutation, with a few tests each."""
    runs = []
    for options in (CHAPTER, SHAPES, MESSAGE):
        tests = list({test: None for m in mutants if m.options() == options for test in m.tests})
        if green:
            tests = list({test.partition("::")[0]: test for test in tests}.values())
            tests = tests[:1] if options is CHAPTER else tests
        runs += in_parts(options, tests)
    return runs


def in_parts(options: list[str], tests: list[str], *, script: bool = False) -> list[Control]:
    """Split tests into runs of a few tests each."""
    few = 1 if options is CHAPTER else TESTS
    return [Control(options, tests[start : start + few], script) for start in range(0, len(tests), few)]


def read_list(root: Path) -> dict[str, Any]:
    """Return the mutants of a project, as they are written, and the modules that their tests share."""
    return tomllib.loads((root / "tests/mutation/mutants.toml").read_text(encoding="utf-8"))


def read_arguments() -> tuple[list[Mutant], argparse.Namespace]:
    """Return the chosen mutants and the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only the mutants whose name contains one of these")
    parser.add_argument("--green", action="store_true", help="the tests have just passed without mutations")
    parser.add_argument("--workers", type=int, default=2, help="runs at once (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of one pytest run")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    mutants = [Mutant(**entry) for entry in read_list(arguments.root)["mutant"]]
    chosen = [m for m in mutants if not arguments.words or any(word in m.name for word in arguments.words)]
    chosen.sort(key=lambda mutant: mutant.options() is not CHAPTER)  # longest first, to balance the workers
    if not chosen or len({m.name for m in mutants}) < len(mutants):
        raise SystemExit(f"no mutant's name contains any of {arguments.words}, or two share a name")
    return chosen, arguments


def prepare(root: Path) -> None:
    """Import what the forks share, and set the environment of their tests."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)  # meant for an outer run
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    plugins = [f"_pytest.{name}" for name in builtin_plugins]
    for name in [*plugins, *read_list(root)["imported"]]:  # single-threaded: forks inherit no held lock
        importlib.import_module(name)
    gc.freeze()  # otherwise each fork's collector traverses, and so copies, all imported objects


def main() -> int:
    """Run the mutants, print the results, and return 1 if a mutant is not killed."""
    mutants, arguments = read_arguments()
    start = time.monotonic()
    lost: list[str] = []
    untried: list[str] = []
    gone = [mutant.name for mutant in mutants if not mutant.applies(arguments.root)]
    mutants = [mutant for mutant in mutants if mutant.name not in gone]
    prepare(arguments.root)
    runs = controls(mutants, green=arguments.green)
    width = max((len(mutant.name) for mutant in mutants), default=0)
    with copies(arguments.root, arguments.workers) as pool:
        if red := "".join(pool.map(Control.red, runs, repeat(arguments.seconds))):
            raise SystemExit(f"red without any mutation, so nothing can be concluded:\n{red}")
        outcomes = pool.map(try_mutant, mutants, repeat(arguments.seconds))
        bar = tqdm(zip(mutants, outcomes, strict=True), total=len(mutants), unit=" mutants", disable=None)
        unchecked: dict[bool, dict[str, None]] = {False: {}, True: {}}  # True: tests of scripts
        for mutant, outcome in bar:
            tqdm.write(f"{mutant.name:{width}}  {outcome.line}")
            if not outcome.killed:
                (lost if outcome.tried else untried).append(mutant.name)
            unchecked[outcome.script] |= dict.fromkeys(outcome.unchecked)
        runs = [run for script in unchecked for run in in_parts(PLAIN, [*unchecked[script]], script=script)]
        if red := "".join(pool.map(Control.red, runs, repeat(arguments.seconds))):
            raise SystemExit(f"red without any mutation, where shapes are not checked:\n{red}")
    killed = len(mutants) - len(lost) - len(untried)
    print(f"{killed} of {len(mutants)} mutants killed in {time.monotonic() - start:.0f} s")
    for name in untried:
        print(f"not tried: {name}", file=sys.stderr)
    for name in gone:
        print(f"its text is no longer there; delete it, or write it anew: {name}", file=sys.stderr)
    for name in lost:
        print(f"not killed: {name}", file=sys.stderr)
    return int(bool(lost) or len(gone) > GONE * (len(mutants) + len(gone)))


if __name__ == "__main__":
    sys.exit(main())
