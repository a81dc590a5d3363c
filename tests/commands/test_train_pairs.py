"""Options of `train` work together: any two values of two options are tried in some run of two updates."""

import contextlib
import io
import itertools
from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.training_state_file import read_progress

OPTIONS = [  # for each option, the values that are tried
    [
        "",
        "--norm pre",
        "--start START",
        "--attention fused --d-k 4",
        "--positions learned --activation gelu --attention-bias",
    ],
    ["", "--fast", "--no-fast"],
    ["", "--bf16"],
    ["", "--dropout 0"],
    ["", "--bpe-dropout 0.1"],
    ["", "--label-smoothing 0"],
    ["", "--bidirectional 1"],
    ["", "--clip-norm 0.1"],
    ["", "--keep best"],
    ["", "--average 2"],
    ["", "--patience 1"],
    ["", "--save-minutes 0"],
]
SMALL = "--vocab-size 271 --num-layers 1 --d-model 8 --d-ff 8 --num-heads 2".split()
COMMON = "--steps 2 --batch-tokens 499 --warmup-steps 1 --threads 1 --device cpu".split()
Row = tuple[str, ...]


def pairs_of(row: Row) -> set[tuple[tuple[int, str], ...]]:
    return set(itertools.combinations(enumerate(row), 2))


def covering_rows(options: list[list[str]]) -> list[Row]:
    """Return rows with one value of each option, in which each pair of values occurs: not the fewest."""
    combinations = itertools.combinations(range(len(options)), 2)
    missing = {
        ((i, one), (j, other))
        for i, j in combinations
        for one, other in itertools.product(options[i], options[j])
    }
    rows = []
    while missing:
        chosen = dict(min(missing))
        for i in (i for i in range(len(options)) if i not in chosen):
            found = {
                value: sum(tuple(sorted([(i, value), other])) in missing for other in chosen.items())
                for value in options[i]
            }
            chosen[i] = max(options[i], key=found.__getitem__)
        rows.append(tuple(chosen[i] for i in range(len(options))))
        missing -= pairs_of(rows[-1])
    return rows


ROWS = covering_rows(OPTIONS)


def test_law_each_pair_of_values_occurs_in_a_row():
    found = set().union(*map(pairs_of, ROWS))
    for i, j in itertools.combinations(range(len(OPTIONS)), 2):
        for one, other in itertools.product(OPTIONS[i], OPTIONS[j]):
            assert ((i, one), (j, other)) in found
    assert len(ROWS) <= 18


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for language, text in {"en": "A {} b.\n", "de": "Ein {} d.\n"}.items():
        lines = "".join(text.format(i % 97) for i in range(211))
        (folder / f"train.{language}").write_text(lines, encoding="utf-8")
    train(folder, "start", [*SMALL, *COMMON])
    return folder


def train(data: Path, out: str, options: list[str]) -> None:
    arguments = ["train", "--data", str(data), "--out", str(data / out), *options]
    with contextlib.redirect_stderr(io.StringIO()) as err:
        status = command_line.main(arguments)
    assert status == 0, err.getvalue()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("row", ROWS, ids=[" ".join(filter(None, row)) or "defaults" for row in ROWS])
def test_law_options_of_train_work_together(data: Path, row: Row):
    options = [word.replace("START", str(data / "start")) for value in row for word in value.split()]
    small = [] if "--start" in options else SMALL
    out = str(ROWS.index(row))
    train(data, out, [*small, *COMMON, *options])
    assert read_progress(data / out).step == 2
    checkpoint.load(data / out)
