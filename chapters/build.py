"""Build the committed notebooks: each chapter's source, executed, with its outputs.

python chapters/build.py           execute the chapters that changed since the last build here
python chapters/build.py NAME …    execute these: 03_scaled_dot_product_attention
python chapters/build.py --check   execute nothing; fail where a notebook's cells are not its source's
"""

import hashlib
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

HERE = Path(__file__).resolve().parent
RECORD = HERE.parent / "_build" / "chapters.json"  # what each chapter was built from; may be deleted
MACHINE = re.compile(rf" at 0x[0-9a-f]+|{re.escape(str(HERE.parent))}|{re.escape(sys.prefix)}")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def read(source: Path) -> NotebookNode:
    """Read a source; a cell's id is made from its text, so that it stays when other cells change."""
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


def execute(source: Path) -> str:
    """Execute a source and return its notebook, the same text at every run."""
    notebook = read(source)
    metadata = json.loads(json.dumps(notebook.metadata))
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # low bits depend on their number
    client = NotebookClient(
        notebook,
        timeout=120,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(HERE)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        sys.exit(f"{source.name}: {COLOUR.sub('', str(error))}")
    notebook.metadata = nbformat.from_dict(metadata)
    for cell in notebook.cells:
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            cell.outputs = []  # a widget: its ids are random
        for output in cell.get("outputs", []):
            if output.output_type == "error":  # a lesson, else the execution would have stopped
                output.traceback = [f"{output.ename}: {output.evalue}"]
            found = MACHINE.search(json.dumps(output, ensure_ascii=False))
            if found or output.get("name") == "stderr":
                reason = f"prints {found[0]!r}, which changes" if found else f"warns: {output.text}"
                sys.exit(f"{source.name}: a cell {reason}. The cell:\n{cell.source}")
    nbformat.validate(notebook)
    return nbformat.writes(notebook, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def fingerprint(source: Path, notebook: Path) -> str:
    """Return a digest of all that a notebook is made from, and of the notebook."""
    places = [HERE.parent / "annotated_transformer", HERE.parent / "benchmarks"]
    found = [file for place in places for file in sorted(place.rglob("*")) if file.is_file()]
    made_of = {".py", ".js", ".json", ".safetensors"}
    files = [source, notebook, Path(__file__), *(file for file in found if file.suffix in made_of)]
    return hashlib.sha256(b"\0".join(f.read_bytes() if f.exists() else b"" for f in files)).hexdigest()


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


def build(names: list[str]) -> None:
    """Execute the named chapters, or without names those that changed."""
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    sources = {source.stem: source for source in sorted((HERE / "src").glob("*.md"))}
    if unknown := sorted(set(names) - set(sources)):
        sys.exit(f"no chapter is called {', '.join(unknown)}; there are {', '.join(sources)}")
    for name in names or sources:
        source, notebook = sources[name], HERE / f"{name}.ipynb"
        if names or record.get(name) != fingerprint(source, notebook):
            write(notebook, execute(source))
            record[name] = fingerprint(source, notebook)
            write(RECORD, json.dumps(record, indent=1))
            print("built", notebook.name)


def stale() -> list[str]:
    """Return what is wrong: a notebook whose cells are not its source's, or that misses its source."""

    def cells(notebook: NotebookNode) -> list[tuple[str, str, str, dict[str, object]]]:
        return [(cell.id, cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells]

    wrong = []
    for name in sorted({path.stem for path in [*(HERE / "src").glob("*.md"), *HERE.glob("*.ipynb")]}):
        source, notebook = HERE / "src" / f"{name}.md", HERE / f"{name}.ipynb"
        if not (source.exists() and notebook.exists()):
            wrong.append(f"{name}: {source.name if notebook.exists() else notebook.name} is missing")
        elif cells(read(source)) != cells(nbformat.read(notebook, as_version=4)):
            wrong.append(f"{name}: the notebook's cells are not its source's")
    return wrong


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        build(sys.argv[1:])
    elif wrong := stale():
        sys.exit("\n".join([*wrong, "Edit chapters/src/NAME.md, never the notebook, then: make chapters"]))
