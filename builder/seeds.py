"""Run a chapter with other seeds, and list the claims and checks that then fail.

python -m builder.seeds 1000 chapters/09_add_and_norm.ipynb    add 1,000 to each seed

A conclusion from an experiment should hold with other seeds, too. Where a text speaks of certain runs or of a
drawn example ("seed 0", "in our three runs"), what it says of them may fail here.
"""

import ast
import os
import random
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import torch
from tqdm import tqdm

from annotated_transformer.book.output import STRICT

FAILING = {"exercise", "raises-exception"}  # tags of cells that fail on purpose


def shift_seeds(shift: int) -> None:
    """Add `shift` to each seed that the chapters and the package give to a generator.

    Nothing here calls `random.seed` or `np.random.seed`, which are left as they are.
    """

    class Generator(torch.Generator):
        def manual_seed(self, seed: int) -> torch.Generator:
            super().manual_seed(seed + shift)
            return self

    class Random(random.Random):
        def __init__(self, seed: Any = None) -> None:
            super().__init__(seed + shift if isinstance(seed, int) else seed)

    seed_all, numpy_generator = torch.manual_seed, np.random.default_rng
    for module, name, shifted in (
        (torch, "Generator", Generator),
        (random, "Random", Random),
        (torch, "manual_seed", lambda seed: seed_all(seed + shift)),
        (np.random, "default_rng", lambda seed: numpy_generator(seed + shift)),
    ):
        setattr(module, name, shifted)


def failures(notebook: Path) -> list[str]:
    """Return the first line of each statement's error, which can follow from an earlier one.

    The statements after it are still run, unless the cell fails on purpose.
    """
    errors, names = [], {"__name__": "__main__"}
    for cell in tqdm(nbformat.read(notebook, as_version=4).cells, desc=notebook.stem, leave=False):
        if cell.cell_type != "code":
            continue
        may_fail = FAILING & set(cell.metadata.get("tags", []))
        for statement in ast.parse(cell.source).body:
            try:
                with redirect_stdout(StringIO()):
                    exec(compile(ast.Module([statement], []), notebook.stem, "exec"), names)
            except Exception as error:
                if may_fail:
                    break
                words = str(error).partition("\n")[0] or ast.unparse(statement)
                errors.append(f"{notebook.stem}: {type(error).__name__}: {words}")
    return errors


if __name__ == "__main__":
    os.environ[STRICT] = "1"
    shift_seeds(int(sys.argv[1]))
    lines = failures(Path(sys.argv[2]))
    print("\n".join(lines) or f"{Path(sys.argv[2]).stem}: every claim and check holds")
    sys.exit(bool(lines))
