"""Build the committed notebooks: what each chapter's source gives (`reader.py`), executed, with its outputs.

python -m builder.build                   execute the chapters whose cells, room, or data changed; lint all
python -m builder.build NAME …            execute these, such as 03_scaled_dot_product_attention
python -m builder.build --check [NAME …]  execute nothing; fail if a notebook, or one of these, is out of date

`staleness.py` says when a notebook is out of date. If only its texts changed, they are written without
executing it. What a change of the engine changes in a chapter, `make chapters-run` finds: name the chapter.
"""

import json
import os
import re
import sys
import tempfile
from itertools import takewhile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from annotated_transformer.book.output import STRICT
from builder.book import Book
from builder.chapters import CHAPTERS, ROOT, written
from builder.explorer import still
from builder.lint import claims, numbers, skeleton
from builder.lint.cells import lint_notebook
from builder.source import read
from builder.staleness import Status, all_stale, exercise_table, made_of, status, text_of, unexecuted

EXERCISES = re.compile("^## Exercises", re.MULTILINE)
MACHINE = re.compile(rf" at 0x[0-9a-f]+|{re.escape(str(ROOT))}|{re.escape(sys.prefix)}")
STEP = "a step of an optimizer, in cell "
WATCH = """
import sys
log = open({log!r}, "a", encoding="utf-8", buffering=1)
def note_files(event, args, log=log):
    if event == "open" and isinstance(args[0], str):
        print(args[0], file=log)
hooks, steps = [], []
def note_steps(result, log=log, hooks=hooks, steps=steps):
    optimizer = sys.modules.get("torch.optim.optimizer")
    if optimizer and not hooks:  # in the first cell that imports PyTorch
        hooks.append(optimizer.register_optimizer_step_post_hook(lambda *step: steps.append(1)))
    if steps:
        print({step!r}, result.execution_count, sep="", file=log)
        steps.clear()
sys.addaudithook(note_files)
get_ipython().events.register("post_run_cell", note_steps)
"""  # for the kernel: it notes which files a notebook opens, and which cells train
MAP_IS_STALE = "the map at the head of the chapters is out of date; build with a browser to draw it"
COLOR = re.compile(r"\x1b\[[0-9;]*m")


def execute(source: Path, book: Book) -> str:
    """Execute the notebook of a source and return it as text, identical at every run.

    What `complete` takes from the outputs is not there yet: a word that is refused costs no execution.
    """
    notebook = unexecuted(source, book)
    metadata = dict(notebook.metadata)
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # low bits depend on the number of threads
    os.environ[STRICT] = "1"  # a claim or check that does not hold raises an error
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        watch = WATCH.format(log=str(log), step=STEP)
        client = NotebookClient(
            notebook,
            timeout=600,
            record_timing=False,
            coalesce_streams=True,  # a loaded machine may send one text in two pieces
            extra_arguments=["--log-level=ERROR", f"--IPKernelApp.exec_lines={watch}"],
            resources={"metadata": {"path": str(CHAPTERS)}},
        )
        try:
            client.execute()
        except CellExecutionError as error:
            sys.exit(f"{source.name}: {COLOR.sub('', str(error))}")
        lines = log.read_text("utf-8").splitlines()
    metadata["made_of"] = made_of(source.stem, lines)
    if read(source).number:
        refuse_hidden_training(source.name, notebook.cells, lines)
    notebook.metadata = nbformat.from_dict(metadata)
    for number in still.refresh(notebook.cells, redraw=True):
        print(f"figure {number} is out of date, and there is no browser to draw it", file=sys.stderr)
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
    return text_of(notebook)


def refuse_hidden_training(name: str, cells: list[NotebookNode], lines: list[str]) -> None:
    """End the program if, before the exercises, an optimizer stepped in a folded cell."""
    trained = {int(line.removeprefix(STEP)) for line in lines if line.startswith(STEP)}
    for cell in takewhile(lambda cell: not EXERCISES.search(cell.source), cells):
        is_folded = cell.metadata.get("jupyter", {}).get("source_hidden", False)
        if is_folded and cell.get("execution_count") in trained:
            sys.exit(f"{name}: a folded cell trains; a reader must see how. The cell:\n{cell.source}")


def write(path: Path, text: str) -> None:
    """Write a file atomically."""
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def complaints(source: Path) -> list[str]:
    """Return what the rules of a chapter, or of a guide, have against a source and its built notebook."""
    chapter, built = read(source), CHAPTERS / f"{source.stem}.ipynb"
    cells = json.loads(built.read_text("utf-8"))["cells"] if built.exists() else []
    complaints = [
        *skeleton.lint(chapter),
        *claims.lint(chapter),
        *numbers.ungrouped(chapter),
        *numbers.lint(chapter, cells),
        *(lint_notebook(cells) if chapter.number else []),
    ]
    return [f"{source.name}: {complaint}" for complaint in complaints]


def build(names: list[str]) -> None:
    """Execute the named chapters, or bring all up to date; print what the rules have against their sources.

    A rule keeps no draft from being executed. Words that its outputs refuse end the program, at its end.
    """
    if still.refresh_map(redraw=True):
        print(MAP_IS_STALE, file=sys.stderr)
    sources, book = {source.stem: source for source in written(ROOT)}, Book(ROOT)
    if unknown := sorted(set(names) - set(sources)):
        sys.exit(f"no chapter is called {', '.join(unknown)}; there are {', '.join(sources)}")
    idle, refused = True, False
    for name in names or sources:
        done, notebook = "", CHAPTERS / f"{name}.ipynb"
        now = Status("named") if names else status(name, book, redraw=True)
        if now.reason and not (now.rewritten or now.refused):
            done = f"built {notebook.name}"
            write(notebook, execute(sources[name], book))
            now = status(name, book, redraw=True)
        if now.reason and now.rewritten:
            done = done or f"rewrote {notebook.name}, since {now.reason.partition(': ')[2]}"
            write(notebook, text_of(now.rewritten))
        for line in [*([now.reason] if now.refused else []), *complaints(sources[name])]:
            print(line, file=sys.stderr)
        if done:
            print(done)
        idle, refused = idle and not done, refused or now.refused
    if refused:
        sys.exit(1)
    if idle:
        print("nothing to do: each notebook is what its source gives")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--check"]:
        build(sys.argv[1:])
        write(ROOT / "annotated_transformer" / "book" / "exercises" / "table.json", exercise_table())
    elif wrong := [*all_stale(sys.argv[2:]), *[MAP_IS_STALE] * still.refresh_map(redraw=False)]:
        sys.exit("\n".join([*wrong, "Edit chapters/src/NAME.md, never the notebook, then: make chapters"]))
