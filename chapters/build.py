"""Build the committed notebooks: each chapter's source, executed, with its outputs.

python chapters/build.py           execute the chapters that changed since the last build or the clone
python chapters/build.py NAME …    execute these, such as 03_scaled_dot_product_attention
python chapters/build.py --check   execute nothing; fail if a notebook is out of date

A notebook is out of date if its cells differ from its source, or if a data file that it uses has changed.
The kernel reports which files a chapter opens; the weights and benchmark results among them are stored in
the notebook's metadata, under `made_of`, each with a digest. All files in a folder of weights count as used
if one of them is.
"""

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from time import monotonic

import jupytext
import nbformat
import psutil
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RECORD = ROOT / "_build" / "chapters.json"  # what each chapter was built from; may be deleted
WEIGHTS = ROOT / "annotated_transformer" / "weights"
DATA = (WEIGHTS, ROOT / "benchmarks")  # the data files that a chapter may use are here
MACHINE = re.compile(rf" at 0x[0-9a-f]+|{re.escape(str(ROOT))}|{re.escape(sys.prefix)}")
WATCH = (
    "import sys; sys.addaudithook(lambda event, args, log=open({log!r}, 'a', encoding='utf-8', buffering=1): "
    "event == 'open' and isinstance(args[0], str) and print(args[0], file=log))"
)
SILENT = 40.0  # seconds in which a kernel that is executing a cell does nothing, if an answer was lost
COLOR = re.compile(r"\x1b\[[0-9;]*m")


def read(source: Path) -> NotebookNode:
    """Read a source; a cell's id is a hash of its text, so it is stable when other cells change."""
    notebook, seen = jupytext.read(source), Counter[str]()
    for cell in notebook.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        cell.id = f"{digest}-{seen[digest]}"
        seen[digest] += 1
    notebook.metadata = NotebookNode(
        kernelspec=notebook.metadata.kernelspec, language_info={"name": "python"}
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


class KernelSilent(Exception):
    """A kernel does nothing, although a cell is to be executed."""


def processor_time(pid: int) -> float:
    """Return the seconds of processor time that a process and its subprocesses have used."""
    try:
        process = psutil.Process(pid)
        return sum(sum(each.cpu_times()[:2]) for each in [process, *process.children(recursive=True)])
    except psutil.Error:  # it has just ended
        return 0.0


async def watched(client: NotebookClient) -> None:
    """Execute a client's notebook; a lost message between it and the kernel would make it wait for minutes.

    Raises:
        KernelSilent: The kernel has used next to no processor time for `SILENT` seconds.
    """
    execution = asyncio.create_task(client.async_execute())
    used, since = 0.0, monotonic()
    while not (await asyncio.wait({execution}, timeout=SILENT / 8))[0]:
        pid = getattr(getattr(client.km, "provisioner", None), "pid", None)
        now = processor_time(pid) if pid else 0.0
        if abs(now - used) > 0.01 * (monotonic() - since):
            used, since = now, monotonic()
        elif monotonic() - since > SILENT:
            execution.cancel()
            await asyncio.gather(execution, return_exceptions=True)  # until it has shut the kernel down
            raise KernelSilent
    await execution


def execute(source: Path, *, again: bool = True) -> str:
    """Execute a source and return its notebook as text, identical at every run.

    If the kernel stops answering, try `again`, in a new kernel.
    """
    notebook = read(source)
    metadata = json.loads(json.dumps(notebook.metadata))
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # low bits depend on the number of threads
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "opened")
        client = NotebookClient(
            notebook,
            timeout=600,
            record_timing=False,
            coalesce_streams=True,  # a loaded machine may send one text in two pieces
            extra_arguments=["--log-level=ERROR", f"--IPKernelApp.exec_lines={WATCH.format(log=str(log))}"],
            resources={"metadata": {"path": str(HERE)}},
        )
        try:
            asyncio.run(watched(client))
        except KernelSilent:
            if not again:
                sys.exit(f"{source.name}: the kernel has stopped answering, again; the chapter is not built")
            print(f"{source.name}: the kernel has stopped answering; executing the chapter again", flush=True)
            return execute(source, again=False)
        except CellExecutionError as error:
            sys.exit(f"{source.name}: {COLOR.sub('', str(error))}")
        metadata["made_of"] = made_of(log.read_text("utf-8").splitlines())
    notebook.metadata = nbformat.from_dict(metadata)
    for cell in notebook.cells:
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            cell.outputs = []  # a widget: its ids are random
        for output in cell.get("outputs", []):
            if output.output_type == "error":  # expected, otherwise the execution would have stopped
                output.traceback = [f"{output.ename}: {output.evalue}"]
            found = MACHINE.search(json.dumps(output, ensure_ascii=False))
            if found or output.get("name") == "stderr":
                reason = f"prints {found[0]!r}, which changes" if found else f"warns: {output.text}"
                sys.exit(f"{source.name}: a cell {reason}. The cell:\n{cell.source}")
    nbformat.validate(notebook)
    return nbformat.writes(notebook, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def made_of(opened: Iterable[str]) -> dict[str, str]:
    """Return a digest of each data file among the files that a kernel opened."""
    paths = {(HERE / name).resolve() for name in opened}
    paths |= {near for path in paths if path.is_relative_to(WEIGHTS) for near in path.parent.iterdir()}
    code = {".py", ".pyc", ".md"}
    data = sorted(path for path in paths if path.is_file() and path.suffix not in code)
    used = [path for path in data if any(path.is_relative_to(place) for place in DATA)]
    return {path.relative_to(ROOT).as_posix(): digest(path) for path in used}


def digest(path: Path) -> str:
    """Return a digest of a file's bytes, or an empty string if there is no such file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""


def changed_data(notebook: Path) -> list[str]:
    """Return the data files of a notebook that have changed since it was built."""
    if not notebook.exists():
        return []
    stored = json.loads(notebook.read_text("utf-8"))["metadata"].get("made_of", {})
    return [name for name, found in stored.items() if digest(ROOT / name) != found]


def fingerprint(source: Path, notebook: Path) -> str:
    """Return a digest of a source, its notebook, and the code that it can run."""
    places = [ROOT / "annotated_transformer", ROOT / "benchmarks"]
    found = [file for place in places for file in sorted(place.rglob("*")) if file.suffix in {".py", ".js"}]
    files = [source, notebook, Path(__file__), *found]
    return hashlib.sha256(b"\0".join(f.read_bytes() if f.exists() else b"" for f in files)).hexdigest()


def write(path: Path, text: str) -> None:
    """Write a file atomically."""
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def as_committed() -> list[str]:
    """Return the chapters that a new clone need not execute: git reports them and their code as unchanged."""
    command = ["git", "status", "--porcelain", "--", "annotated_transformer", "benchmarks", "chapters"]
    try:
        status = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # no git, or not a clone
        return []
    changed = {ROOT / line[3:] for line in status.splitlines()}
    own = {*changed} & {*HERE.glob("src/*.md"), *HERE.glob("*.ipynb")}
    if changed - own:
        return []
    names = {path.stem for path in HERE.glob("*.ipynb")} - {path.stem for path in own}
    return sorted(name for name in names if not stale(name))


def build(names: list[str]) -> None:
    """Execute the named chapters, or by default those that changed.

    CI has executed each commit's chapters, so a new clone executes only what differs from its commit.
    """
    if RECORD.exists():
        record = json.loads(RECORD.read_text("utf-8"))
    else:
        record = {x: fingerprint(HERE / "src" / f"{x}.md", HERE / f"{x}.ipynb") for x in as_committed()}
        write(RECORD, json.dumps(record, indent=1))
    sources = {source.stem: source for source in sorted((HERE / "src").glob("*.md"))}
    if unknown := sorted(set(names) - set(sources)):
        sys.exit(f"no chapter is called {', '.join(unknown)}; there are {', '.join(sources)}")
    for name in names or sources:
        source, notebook = sources[name], HERE / f"{name}.ipynb"
        if names or record.get(name) != fingerprint(source, notebook) or changed_data(notebook):
            write(notebook, execute(source))
            record[name] = fingerprint(source, notebook)
            write(RECORD, json.dumps(record, indent=1))
            print("built", notebook.name)


def stale(name: str) -> str:
    """Return why a notebook is out of date, or which file is missing; an empty string if it is current."""

    def cells(notebook: NotebookNode) -> list[tuple[str, str, str, dict[str, object]]]:
        return [(cell.id, cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells]

    source, notebook = HERE / "src" / f"{name}.md", HERE / f"{name}.ipynb"
    if not (source.exists() and notebook.exists()):
        return f"{name}: {source.name if notebook.exists() else notebook.name} is missing"
    if cells(read(source)) != cells(nbformat.read(notebook, as_version=4)):
        return f"{name}: the cells differ from the source"
    changed = changed_data(notebook)
    return f"{name}: built before {', '.join(changed)} changed" if changed else ""


def all_stale() -> list[str]:
    """Return the reason for each notebook that is out of date or missing."""
    names = {path.stem for path in [*(HERE / "src").glob("*.md"), *HERE.glob("*.ipynb")]}
    return list(filter(None, map(stale, sorted(names))))


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        build(sys.argv[1:])
    elif wrong := all_stale():
        sys.exit("\n".join([*wrong, "Edit chapters/src/NAME.md, never the notebook, then: make chapters"]))
