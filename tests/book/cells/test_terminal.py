"""`run_command` shows a command and its output, or the reason for its failure."""

import shutil
from pathlib import Path

import pytest

from annotated_transformer.book.cells.terminal import run_command
from annotated_transformer.checkpointing.checkpoint import pretrained_folder

PROGRAM = "annotated-transformer"


@pytest.mark.usefixtures("unchecked")
def test_law_a_command_is_shown_with_what_it_prints(tmp_path: Path):
    shutil.copytree(pretrained_folder("en-de"), tmp_path / "a b")
    line = f"{PROGRAM} translate --model 'a b' --threads 1 \\\n    'A dog.'"
    first, *command, translation, last = repr(run_command(line, tmp_path)).split("\n")
    assert (first, "\n".join(command), last) == ("```console", f"$ {line}", "```")
    assert translation.startswith("Ein Hund")


@pytest.mark.message
def test_message_a_command_that_fails_or_is_not_of_this_package():
    with pytest.raises(RuntimeError, match=r"--split no' ended with status 2: error: .*'no'"):
        run_command(f"{PROGRAM} evaluate --corpus toy --split no")
    with pytest.raises(ValueError, match=r"'rm -r x' is not a command of this package; begin with annot"):
        run_command("rm -r x")
