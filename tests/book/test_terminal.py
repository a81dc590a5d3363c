"""`run_command` shows a command and its output, or the reason for its failure."""

from pathlib import Path

import pytest

from annotated_transformer.book import run_command

PROGRAM = "annotated-transformer"


@pytest.mark.usefixtures("unchecked")
def test_law_a_command_is_shown_with_what_it_prints(tmp_path: Path):
    folder = f"'{tmp_path}/a b'"
    line = f"{PROGRAM} train --corpus toy --steps 1 --vocab-size 300 --out {folder} --threads 1"
    line += " --num-layers 1 --d-model 8 --d-ff 8 --num-heads 1 --batch-tokens 64"
    assert repr(run_command(line)) == f"```console\n$ {line}\n```"  # everything else goes to stderr
    shown = repr(run_command(f"{PROGRAM} translate --model {folder} dog", shown="x"))
    assert shown.startswith("```console\n$ x\n")
    assert len(shown.splitlines()) == 4
    assert (tmp_path / "a b" / "metrics.jsonl").exists()


@pytest.mark.message
def test_message_a_command_that_fails_or_is_not_of_this_package():
    with pytest.raises(RuntimeError, match=r"--split no' ended with status 2: error: .*'no'"):
        run_command(f"{PROGRAM} evaluate --corpus toy --split no")
    with pytest.raises(ValueError, match=r"'rm -r x' is not a command of this package; begin with annot"):
        run_command("rm -r x")
