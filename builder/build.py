"""Build the committed notebooks: what each chapter's source gives (`reader.py`), executed, with its outputs.

python -m builder.build                   execute the chapters that changed since the last build or the clone
python -m builder.build NAME …            execute these, such as 03_scaled_dot_product_attention
python -m builder.build --check [NAME …]  execute nothing; fail if a notebook, or one of these, is out of date

A notebook is out of date if its source, one of its data files, or the source that `show_source` printed in it
changed (`staleness.py`). It is executed again, too, if the code that it runs changed (`imports.py`). If only
its texts changed, such as the title of a chapter that it names, they are written without executing it.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import nbformat
import psutil
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from annotated_transformer.book.cells.check import STRICT
from builder.book import Book
from builder.chapters import written
from builder.claim_values import fill
from builder.imports import CHAPTERS, ROOT, committed, fingerprint, overlooked, present
from builder.reader import name_folded
from builder.staleness import Status, all_stale, made_of, status, unexecuted

RECORD = ROOT / "_build" / "chapters.json"  # a fingerprint of each chapter when it was built; may be deleted
MACHINE = re.compile(rf" at 0x[0-9a-f]+|{re.escape(str(ROOT))}|{re.escape(sys.prefix)}")
WATCH = (
    "import sys; sys.addaudithook(lambda event, args, log=open({log!r}, 'a', encoding='utf-8', buffering=1): "
    "event == 'open' and isinstance(args[0], str) and print(args[0], file=log))"
)
SILENT = 40.0  # seconds without processor time after which a message to or from the kernel counts as lost
COLOR = re.compile(r"\x1b\[[0-9;]*m")


class KernelSilent(Exception):
    """A kernel is idle although it should be executing a cell."""


def processor_time(pid: int) -> float:
    """Return the seconds of processor time that a process and its subprocesses have used."""
    try:
        parent = psutil.Process(pid)
        return sum(sum(process.cpu_times()[:2]) for process in [parent, *parent.children(recursive=True)])
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


def execute_twice_if_silent(name: str, make: Callable[[], NotebookClient]) -> NotebookNode:
    """Return the executed notebook of the client that `make` returns.

    If the kernel stops answering, execute that of another client, once.

    Raises:
        KernelSilent: The second kernel has stopped answering, too.
    """
    client = make()
    try:
        asyncio.run(watched(client))
    except KernelSilent:
        print(f"{name}: the kernel has stopped answering; executing the chapter again", flush=True)
        client = make()
        asyncio.run(watched(client))
    return client.nb


def execute(source: Path, book: Book) -> str:
    """Execute the notebook of a source and return it as text, identical at every run."""
    metadata = dict(unexecuted(source, book).metadata)
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # low bits depend on the number of threads
    os.environ[STRICT] = "1"  # a claim or check that does not hold raises an error
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "opened")
        lines = f"--IPKernelApp.exec_lines={WATCH.format(log=str(log))}"

        def make() -> NotebookClient:
            return NotebookClient(
                unexecuted(source, book),
                timeout=600,
                record_timing=False,
                coalesce_streams=True,  # a loaded machine may send one text in two pieces
                extra_arguments=["--log-level=ERROR", lines],
                resources={"metadata": {"path": str(CHAPTERS)}},
            )

        try:
            notebook = execute_twice_if_silent(source.name, make)
        except KernelSilent:
            sys.exit(f"{source.name}: the kernel has stopped answering, again; the chapter is not built")
        except CellExecutionError as error:
            sys.exit(f"{source.name}: {COLOR.sub('', str(error))}")
        opened = log.read_text("utf-8").splitlines()
    if code := overlooked(opened, nbformat.writes(notebook).encode(), present()):
        sys.exit(
            f"{source.name}: no import statement leads to {', '.join(code)}, but its kernel loaded that. "
            "Write such a statement, so that the builder notices when the code changes."
        )
    metadata["made_of"] = made_of(opened)
    notebook.metadata = nbformat.from_dict(metadata)
    for cell in notebook.cells:
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            cell.outputs = []  # a widget: its ids are random
        for output in cell.get("outputs", []):
            if output.output_type == "error":  # expected, otherwise the execution would have stopped
                output.traceback = [f"{output.ename}: {output.evalue}"]
            match = MACHINE.search(json.dumps(output, ensure_ascii=False))
            if match or output.get("name") == "stderr":
                reason = f"prints {match[0]!r}, which changes" if match else f"warns: {output.text}"
                sys.exit(f"{source.name}: a cell {reason}. The cell:\n{cell.source}")
        name_folded(cell)
    fill(notebook.cells)
    return text_of(notebook)


def text_of(notebook: NotebookNode) -> str:
    """Return the text of a notebook's file."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def write(path: Path, text: str) -> None:
    """Write a file atomically."""
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def built_before(book: Book) -> dict[str, str]:
    """Return the fingerprint of each notebook when it was built.

    CI has executed each commit's chapters, so in a new clone the committed notebooks count as built.
    """
    if RECORD.exists():
        return dict(json.loads(RECORD.read_text("utf-8")))
    files = committed()
    paths = {Path(path).stem: path for path in files if path.endswith(".ipynb")}
    return {name: fingerprint(path, files) for name, path in paths.items() if status(name, book).rewritten}


def build(names: list[str]) -> None:
    """Execute the named chapters; by default, bring those up to date whose source, code, or data changed."""
    sources = {source.stem: source for source in written(ROOT)}
    if unknown := sorted(set(names) - set(sources)):
        sys.exit(f"no chapter is called {', '.join(unknown)}; there are {', '.join(sources)}")
    book, files = Book(ROOT), present()
    record = built_before(book)
    write(RECORD, json.dumps(record, indent=1))
    for name in names or sources:
        path, found = f"chapters/{name}.ipynb", Status("named") if names else status(name, book)
        if found.rewritten and record.get(name) == fingerprint(path, files):
            if not found.reason:
                continue
            done, text = "rewrote", text_of(found.rewritten)
        else:
            done, text = "built", execute(sources[name], book)
        write(ROOT / path, text)
        files[path] = text.encode()
        record[name] = fingerprint(path, files)
        write(RECORD, json.dumps(record, indent=1))
        print(done, f"{name}.ipynb")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--check"]:
        build(sys.argv[1:])
    elif wrong := all_stale(sys.argv[2:]):
        sys.exit("\n".join([*wrong, "Edit chapters/src/NAME.md, never the notebook, then: make chapters"]))
