"""Break the package in each way of mutants.toml: every wrong program must turn a test or a chapter red.

`python tests/mutation/run.py [words]` runs the mutants whose name contains one of the words, or all.
A mutant is

    [[mutant]]
    name = "what is wrong, in a few words"
    file = "annotated_transformer/…"
    old = "text that occurs exactly once in the file"
    new = "what stands there instead"
    tests = ["tests/….py::test_law_…"]  # what must turn red; or chapters: ["chapters/….ipynb"]
    message = true  # where the tests are marked `message`: they run without the shape checker
    slow = true  # where the tests take longer than importing the package with the shape checker

It counts as killed where a test fails, where the tests cannot be collected any more, or where they find
no end; not where pytest is called wrongly or finds no test. All this is said in the table. First the same
tests must pass with nothing broken; `--green` says that pytest has just seen that, as in `make test`, and
then one test of each file and one chapter show that they run here as well.

Without the shape checker the package is imported in a third of the time, so the tests run without it first,
and with it where the mutant survives that. At the end, what turned red without the checker must be green
there with nothing broken. Slow tests run with the checker only, which spares them that last run.

Importing PyTorch takes longer than most tests, so it is done once: each run of pytest is a fork of a
process that has imported what the table names, but nothing of the package. That comes from a copy of the
project, one for each worker, in which the mutant stands. The copy keeps its bytecode from one run to the
next. Python believes bytecode where the source has the same size and second of change, so each mutant gets
a second of its own, and the mended file the one that it had.

A mutant of a script, which Python does not import, needs no process of its own: each worker has one that runs
their tests one after the other, and keeps the browser that they need. So nothing in the package or the tests
may keep the text of a script (no cache): its mutants would survive.
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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest
from _pytest.config import builtin_plugins
from tqdm import tqdm

PACKAGE = "annotated_transformer"
NOT_COPIED = shutil.ignore_patterns(".*", "_build", "_lab", "__pycache__", "*.egg-info")
WORKERS, SECONDS = 2, 240  # for one run of pytest; after that it is stopped
TESTS = 20  # in one run without any mutation
FORK = multiprocessing.get_context("fork")
WRONG_PACKAGE, CRASHED = 70, 71  # exit statuses that pytest has not
NUMBERS = itertools.count(1)  # of the mutants of this worker
SURVIVED = "SURVIVED"

# Each kind of run loads the one plugin that it needs: importing the others takes longer than most tests.
QUIET = ["-x", "-q", "-rfE", "--tb=no", "--no-header", "-p", "no:cacheprovider"]
HOOK = ["-p", "jaxtyping._pytest_plugin", f"--jaxtyping-packages={PACKAGE},beartype.beartype"]
PLAIN = ["-m", "not message and not page"]
SHAPES = [*HOOK, *PLAIN]
MESSAGE = ["-m", "message"]
CHAPTER = ["-p", "nbval.plugin", "--nbval", "--nbval-sanitize-with", "chapters/nbval_sanitize.cfg"]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One wrong program: a file where `new` stands for `old`, and the tests that must notice."""

    name: str
    file: str
    old: str
    new: str
    tests: list[str]
    message: bool = False
    slow: bool = False

    def options(self) -> list[str]:
        """Return how pytest runs its tests where nothing is broken."""
        chapter = all(test.partition("::")[0].endswith(".ipynb") for test in self.tests)
        return CHAPTER if chapter else MESSAGE if self.message else SHAPES

    def applied(self, source: str) -> str:
        """Return the file's text with the mutation in it; it must still be a program.

        That of a script is seen in a browser, by `test_explorer_engine.py` and `test_explorer_ui.py`.
        """
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
            raise ValueError(f"the mutant is no Python program: {error}") from error
        return text


def enter_copy(root: Path, folder: Path) -> None:
    """Make a copy of the project this worker's folder, and its package the one that gets imported."""
    copy = shutil.copytree(root, folder / str(os.getpid()), ignore=NOT_COPIED)
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    os.environ["PYTHONPATH"] = str(copy)  # for the processes that tests start, and the chapters' kernels
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the copy is ours, whatever holds elsewhere
    sys.dont_write_bytecode = False


def put(path: Path, text: str, changed: float) -> None:
    """Replace a file by this text, with this time of its last change, in one step."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8")
    shutil.copymode(path, new)
    os.utime(new, (changed, changed))
    new.replace(path)


@dataclass(frozen=True)
class Run:
    """How a run of pytest ended: its exit status, None where it found no end, and what failed first."""

    status: int | None
    phase: str = ""  # of that test: "collect", "setup", "call", or "teardown"
    failed: str = ""

    def verdict(self) -> tuple[bool, str]:
        """Was the mutant killed, and by what?"""
        if self.status is None:
            return True, "no end (killed by the time limit)"
        if self.failed and self.status != WRONG_PACKAGE:
            # It can be collected without the mutation, so the mutant did it.
            return True, self.failed + " (cannot be collected)" * (self.phase == "collect")
        if self.status == 0:
            return False, SURVIVED
        return False, f"BROKEN: pytest's exit status is {self.status}: {printed_text().strip()[-3000:]}"


class FirstFailure:
    """A plugin of pytest that remembers what failed first."""

    phase = failed = ""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Look at a file or a class."""
        self._note(report, "collect")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Look at a phase of a test."""
        self._note(report, report.when or "call")

    def _note(self, report: pytest.CollectReport | pytest.TestReport, phase: str) -> None:
        if report.failed and not self.failed:
            self.phase, self.failed = phase, report.nodeid


def run_pytest(options: list[str], tests: list[str]) -> Run:
    """Run pytest until the first failure; everything printed goes to a file."""
    with open("printed", "wb") as printed:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
    first = FirstFailure()
    try:
        status = int(pytest.main([*QUIET, *options, *tests], plugins=[first]))
    except BaseException:  # such as one that pytest raises when it has finished
        traceback.print_exc()
        status = CRASHED
    ours = [m for name, m in sys.modules.items() if name.partition(".")[0] == PACKAGE]
    if strangers := [m.__file__ for m in ours if not Path(str(m.__file__)).is_relative_to(Path.cwd())]:
        print(f"not imported from the copy: {strangers}")
        status = WRONG_PACKAGE
    sys.stdout.flush()
    return Run(status, first.phase, first.failed)


def printed_text() -> str:
    """Return what the last run of pytest printed."""
    return Path("printed").read_text(encoding="utf-8", errors="replace")


def in_fork(result: Connection, options: list[str], tests: list[str]) -> None:
    """Run pytest once."""
    os.setsid()  # so that it can be stopped with all that it starts
    result.send(run_pytest(options, tests))


def run_tests(options: list[str], tests: list[str], seconds: float) -> Run:
    """Run pytest in a process of its own."""
    result, theirs = FORK.Pipe(duplex=False)
    fork = FORK.Process(target=in_fork, args=(theirs, options, tests))
    fork.start()
    theirs.close()
    try:
        fork.join(seconds)
        if fork.is_alive():
            return Run(None)
        with contextlib.suppress(EOFError):  # it ended without a word, be its status 0
            if result.poll():
                return result.recv()
        return Run(fork.exitcode or CRASHED)
    finally:
        result.close()
        stop(fork)


def stop(process: ForkProcess) -> None:
    """Stop a process and all that it has started."""
    if process.is_alive():
        os.killpg(process.pid, signal.SIGKILL)
    process.join()


def run_each(theirs: Connection, jobs: Connection) -> None:
    """Run pytest for each job that comes, and send back how it ended; the tests share a browser."""
    theirs.close()
    os.setsid()
    os.environ["KEEP_BROWSER"] = "1"
    with contextlib.suppress(EOFError):  # the worker has ended
        while True:
            jobs.send(run_pytest(*jobs.recv()))


@dataclass
class ScriptRunner:
    """The process of this worker that runs the tests of scripts; a new one where it has ended."""

    process: ForkProcess | None = None
    jobs: Connection | None = None

    def run(self, options: list[str], tests: list[str], seconds: float) -> Run:
        """Run pytest there; in a process of its own where that ends, or a fixture fails (in the browser?)."""
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
    """What became of a mutant: `unchecked` are the tests that turned red without the shape checker."""

    killed: bool
    line: str
    unchecked: tuple[str, ...] = ()
    script: bool = False


def try_mutant(mutant: Mutant, seconds: float) -> Outcome:
    """Break the copy, run the tests that must notice, and mend the copy."""
    path, start = Path(mutant.file), time.monotonic()
    source, changed = path.read_text(encoding="utf-8"), int(path.stat().st_mtime)
    unchecked: tuple[str, ...] = ()
    script = path.suffix == ".js"
    try:
        put(path, mutant.applied(source), changed + next(NUMBERS))
        options = mutant.options()
        first = options is SHAPES and not mutant.slow
        if first:
            killed, by = (SCRIPTS.run if script else run_tests)(PLAIN, mutant.tests, seconds).verdict()
            unchecked = (by,) if killed and "::" in by else (*mutant.tests,) * killed
        if not first or not killed:
            killed, by = run_tests(options, mutant.tests, seconds).verdict()
    except ValueError as error:
        killed, by = False, f"BROKEN: {error}"
    finally:
        put(path, source, changed)
    line = f"{time.monotonic() - start:5.1f} s  {by}"
    return Outcome(killed=killed, line=line, unchecked=unchecked, script=script)


@dataclass(frozen=True)
class Control:
    """A run without any mutation; `script` says that the tests are those of scripts."""

    options: list[str]
    tests: list[str]
    script: bool

    def red(self, seconds: float) -> str:
        """Return what is red as long as nothing is broken: a red test kills nothing."""
        status = (SCRIPTS.run if self.script else run_tests)(self.options, self.tests, seconds).status
        ended = "no end" if status is None else f"status {status}"
        return "" if status == 0 else f"{printed_text()[-3000:]}\n{ended}\n"


def controls(mutants: list[Mutant], *, green: bool) -> list[Control]:
    """Return the runs without any mutation: a few tests in each."""
    runs = []
    for options in (CHAPTER, SHAPES, MESSAGE):
        tests = list({test: None for m in mutants if m.options() == options for test in m.tests})
        if green:
            tests = list({test.partition("::")[0]: test for test in tests}.values())
            tests = tests[:1] if options is CHAPTER else tests
        runs += in_parts(options, tests)
    return runs


def in_parts(options: list[str], tests: list[str], *, script: bool = False) -> list[Control]:
    """Return runs of a few tests each."""
    few = 1 if options is CHAPTER else TESTS
    return [Control(options, tests[start : start + few], script) for start in range(0, len(tests), few)]


def read_arguments() -> tuple[list[Mutant], argparse.Namespace]:
    """Return the chosen mutants and the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only the mutants whose name contains one of these")
    parser.add_argument("--green", action="store_true", help="the tests have just passed with nothing broken")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for one run of pytest")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    written = tomllib.loads((arguments.root / "tests/mutation/mutants.toml").read_text(encoding="utf-8"))
    mutants = [Mutant(**entry) for entry in written["mutant"]]
    chosen = [m for m in mutants if not arguments.words or any(word in m.name for word in arguments.words)]
    arguments.imported = written.get("imported", [])
    chosen.sort(key=lambda mutant: mutant.options() is not CHAPTER)  # the longest first: none is left alone
    if not chosen or len({m.name for m in mutants}) < len(mutants):
        raise SystemExit(f"no mutant is named like {arguments.words}, or two share a name")
    return chosen, arguments


def main() -> int:
    """Run the mutants, print the table, and return 1 if one survives."""
    mutants, arguments = read_arguments()
    start, lost = time.monotonic(), []
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    plugins = [f"_pytest.{name}" for name in builtin_plugins]
    for name in [*plugins, *arguments.imported]:  # with one thread: no other holds a lock while we fork
        importlib.import_module(name)
    gc.freeze()  # or each fork's collector walks, and so copies, all that was imported
    runs = controls(mutants, green=arguments.green)
    width = max(len(mutant.name) for mutant in mutants)
    with tempfile.TemporaryDirectory() as folder:
        home = arguments.root.resolve(), Path(folder).resolve()
        with ProcessPoolExecutor(WORKERS, FORK, enter_copy, home) as pool:
            if red := "".join(pool.map(Control.red, runs, repeat(arguments.seconds))):
                raise SystemExit(f"red without any mutation, so nothing can be concluded:\n{red}")
            outcomes = pool.map(try_mutant, mutants, repeat(arguments.seconds))
            bar = tqdm(zip(mutants, outcomes, strict=True), total=len(mutants), unit=" mutants", disable=None)
            unchecked: dict[bool, dict[str, None]] = {False: {}, True: {}}  # those of scripts: True
            for mutant, outcome in bar:
                tqdm.write(f"{mutant.name:{width}}  {outcome.line}")
                lost += [] if outcome.killed else [mutant.name]
                unchecked[outcome.script] |= dict.fromkeys(outcome.unchecked)
            runs = [
                run for script in unchecked for run in in_parts(PLAIN, [*unchecked[script]], script=script)
            ]
            if red := "".join(pool.map(Control.red, runs, repeat(arguments.seconds))):
                raise SystemExit(f"red without any mutation, where shapes are not checked:\n{red}")
    killed = len(mutants) - len(lost)
    print(f"{killed} of {len(mutants)} mutants killed in {time.monotonic() - start:.0f} s")
    for name in lost:
        print(f"not killed: {name}", file=sys.stderr)
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
