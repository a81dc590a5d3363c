"""The tables in the benchmarks' README match the results."""

import json
from pathlib import Path

import pytest

from benchmarks.tables import (
    README,
    RESULTS,
    TABLES,
    copying_rows,
    decode_table,
    loop_rows,
    multi30k_table,
    origin,
    recall_rows,
    score_rows,
    speed_table,
    train_table,
    update_rows,
    with_tables,
)

CHAPTERS = README.parents[1] / "chapters" / "src"
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


@pytest.mark.parametrize(
    ("chapter", "rows", "name", "count"),
    [
        ("01_why_attention", recall_rows, "recall_20-words", 8),
        ("01_why_attention", copying_rows, "copying_vocab-8", 6),
        ("01_why_attention", update_rows, "lengths_25-17", 4),
        ("04_self_attention", loop_rows, "lengths_25-17", 4),
    ],
)
def test_law_a_chapter_has_the_rows_of_its_benchmark(chapter, rows, name, count):
    record = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    table, text = rows(record["results"]), (CHAPTERS / f"{chapter}.md").read_text(encoding="utf-8")
    assert table.count("\n") == 1 + count
    assert f"\n{table}\n" in text, "copy the rows from benchmarks/README.md"
    assert f"`annotated_transformer/book/results/{name}.json`" in text


def test_law_a_loop_is_a_multiple_of_ours_and_an_update_a_percentage():
    ratios = {"ours": {"slow": 1234.5, "fast": 0.412}}
    part = {"16": {"ratios": ratios}, "1024": {"ratios": ratios}}
    assert loop_rows({"loops": part}).splitlines() == [
        "| words | slow | fast |",
        "| --: | --: | --: |",
        "| 16 | 1,234 × | 0 × |",
        "| 1,024 | 1,234 × | 0 × |",
    ]
    assert score_rows({"scores": part}).splitlines()[2] == "| 16 | 1,234.5 × | 0.4 × |"
    assert update_rows({"updates": part}).splitlines()[2] == "| 16 | 123450 | 41 |"


def test_law_a_row_has_each_seed_and_the_power_of_ten_of_the_gradient():
    runs = [
        {
            "network": "RNN",
            "learning_rate": 0.01,
            "gradient_at_start": gradient,
            "accuracy": {"2000": share, "10": 0.0},
        }
        for gradient, share in ((2e-7, 0.124), (4e-5, 1.0))
    ]
    assert recall_rows({"runs": runs}).splitlines() == [
        "| network | learning rate | gradient | 2,000 updates | 10 updates |",
        "| --- | --: | --: | --: | --: |",
        "| RNN | 0.01 | −7 to −4 | 12, 100 | 0, 0 |",
    ]


def test_law_a_row_has_the_range_over_the_seeds_or_nothing():
    cases = [
        {"model": "AverageCopier", "size": 4, "words": 32, "shares": {"60": [1.0, 0.872, 0.99]}},
        {"model": "VectorCopier", "size": 8, "words": 16, "shares": {"1200": [0.5, 0.5]}},
    ]
    assert copying_rows({"cases": cases}).splitlines() == [
        "| model | words | 60 updates | 1,200 updates |",
        "| --- | --: | --: | --: |",
        "| all states, 4 numbers each | 32 | 87 to 100 |  |",
        "| one vector, 8 numbers | 16 |  | 50 |",
    ]


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
