"""`make seeds` runs a notebook with other seeds, and lists what is true with its own seeds only."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).resolve().parents[2]
IMPORTS = (
    "import random\nimport numpy as np\nimport torch\nfrom annotated_transformer.book import check, claim"
)
DRAWS = {
    "torch": "torch.manual_seed(3)\nfound = torch.rand(()).item()",
    "generator": "found = torch.rand((), generator=torch.Generator().manual_seed(3)).item()",
    "random": "found = random.Random(3).random()",
    "numpy": "found = np.random.default_rng(3).random()",
}


@pytest.mark.slow
def test_law_a_result_of_one_seed_fails_with_others_and_a_result_of_all_does_not(tmp_path: Path):
    cells = [IMPORTS]
    for name, draw in DRAWS.items():
        value: dict[str, float] = {}
        exec(f"{IMPORTS}\n{draw}", value)
        cells.append(draw)
        cells.append(f"claim({name!r}, found, equals={value['found']!r})\nclaim('share', found, below=1)")
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in (*cells, "check(found < 0, 'never')")])
    notebook.cells.append(new_code_cell("raise ValueError", metadata={"tags": ["exercise"]}))
    nbformat.write(notebook, tmp_path / "one.ipynb")

    def failing(shift: int) -> list[str]:
        command = [sys.executable, "-m", "builder.seeds", str(shift), str(tmp_path / "one.ipynb")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr
        return [line.removeprefix("one: AssertionError: ") for line in done.stdout.splitlines()]

    never = "this does not hold: never: not here"
    assert failing(0) == [never]
    *others, last = failing(1000)
    assert last == never
    wanted = [f"this does not hold: {name}: " for name in DRAWS]
    assert [line[: len(start)] for line, start in zip(others, wanted, strict=True)] == wanted
