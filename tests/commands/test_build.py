"""The command `build`: it writes a file once, and says which step is not right yet."""

from pathlib import Path

import pytest

from annotated_transformer.book.from_scratch.outline import OUTLINE

pytestmark = pytest.mark.usefixtures("unchecked")


def test_law_it_writes_the_outline_and_never_overwrites(tmp_path: Path, run):
    path = tmp_path / "mine.py"
    out, _ = run("build", path)
    assert out.startswith(f"wrote {path}: 13 steps")
    assert path.read_text("utf-8") == OUTLINE.format(name="mine.py")
    path.write_text("mine", "utf-8")
    _, err = run("build", path, status=2)
    assert err == f"error: {path} is already there; add --check to check it\n"
    assert path.read_text("utf-8") == "mine"


def test_law_a_check_begins_with_its_seed_and_ends_at_the_first_step_that_is_wrong(tmp_path: Path, run):
    path = tmp_path / "mine.py"
    path.write_text("print('hello')\ndef attention(q, k, v, mask): return q @ k.mT", "utf-8")
    found = [run("build", path, "--check", "--seed", 7, status=1) for _ in range(2)]
    assert found[0] == found[1]
    out, err = found[0]
    assert out.splitlines()[0] == "seed 7"
    assert out.splitlines()[1].startswith("✗  1  scaled dot-product attention: attention should")
    assert out.splitlines()[1].endswith("Chapter 3 teaches it.")
    assert err == "error: step 1 is not right yet\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--step", 14), "step=14 is no step; give 1 to 13"),
        (("--start", 0), "start=0 is no step; give 1 to 13"),
        (("--timeout", 0), "timeout=0 is not a time; give a number of seconds above 0"),
    ],
)
def test_message_an_option_that_fits_nothing_is_refused(options: tuple, said: str, tmp_path: Path, run):
    path = tmp_path / "mine.py"
    path.touch()
    assert run("build", path, "--check", *options, status=2)[1] == f"error: {said}\n"
