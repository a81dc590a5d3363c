"""The tables in the benchmarks' README match the results."""

import json
from pathlib import Path

import pytest

from benchmarks.tables import (
    README,
    RESULTS,
    TABLES,
    decode_table,
    multi30k_table,
    origin,
    speed_table,
    train_table,
    with_tables,
)

RESULT = {
    "found": {
        "ours": {"per_second": [2000.0, 1000.0, 1200.0], "peak_mb": 850},
        "theirs": {"per_second": [12.25, 13.0, 11.0], "peak_mb": 1600},
        "other": {"absent": "without other"},
    },
    "ratios": {"ours": {"theirs": 116.667}},
}


def test_law_the_tables_in_the_readme_match_the_results():
    text = README.read_text(encoding="utf-8")
    assert with_tables(text) == text, "run `python -m benchmarks.tables`"
    assert {path.stem.partition("_")[0] for path in RESULTS.glob("*.json")} >= set(TABLES)
    assert "| ours" in text


def test_law_a_row_has_the_median_the_range_the_memory_and_the_speedup():
    lines = speed_table(RESULT, "things/s").splitlines()
    assert lines == [
        "|  | things/s, median | lowest to highest | peak MB | speedup of ours |",
        "| --- | --: | --: | --: | --: |",
        "| ours | 1,200 | 1,000 to 2,000 | 850 |  |",
        "| theirs | 12.2 | 11.0 to 13.0 | 1,600 | 116.67 × |",
        "| other | absent: without other |  |  |  |",
    ]


def test_law_each_processor_has_its_own_rows():
    """Each processor's rows come before its origin, which includes family and model if they were recorded."""
    first = json.loads((RESULTS / "decode_epyc.json").read_text(encoding="utf-8"))
    numbers = {"processor": "Fast CPU", "family": 25, "model": 17}
    second = first | {"machine": first["machine"] | numbers}
    for table, results in ((decode_table, {"batch 1": RESULT}), (train_table, RESULT)):
        found = table([record | {"results": results} for record in (first, second)])
        assert found.count("| ours | 1,200 |") == 2
        assert found.index(origin(first)) < found.rindex("| ours | 1,200 |") < found.index(origin(second))
    assert "; Fast CPU, family 25, model 17 (" in origin(second)
    assert "family" not in origin(first)


@pytest.mark.message
def test_message_seeds_with_different_recipes():
    records = [json.loads((RESULTS / f"multi30k_seed{seed}.json").read_text("utf-8")) for seed in range(3)]
    records[2]["results"]["backward"]["recipe"] = {"average": 7}
    expected = "seed 2 has another recipe than seed 0 for backward; run benchmarks.multi30k again for the"
    with pytest.raises(ValueError, match=expected):
        multi30k_table(records)


@pytest.mark.message
@pytest.mark.parametrize("text", ["<!-- table train -->\n", "<!-- table nothing -->\n<!-- end nothing -->"])
def test_message_a_table_without_an_end_marker_or_a_generator(text: str, tmp_path: Path):
    name = text.split()[2]
    expected = rf"table '{name}' needs one start mark, one end mark, and a name from .*'train'"
    with pytest.raises(ValueError, match=expected):
        with_tables(text, tmp_path)
