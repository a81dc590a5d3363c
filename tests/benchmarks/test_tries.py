"""The list of tries has each run once, no test score, and in its table only what changed."""

import dataclasses
import json
from dataclasses import replace
from pathlib import Path

import pytest

from annotated_transformer.config import TINY
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe
from benchmarks import multi30k
from benchmarks.record import RESULTS, describe_code
from benchmarks.tables import PARTS, tries_table
from benchmarks.tries import add_try, changes, flat

RECIPE = Recipe(shape=TINY, training=TrainingConfig(steps=1234, max_lr=0.25), average=3)
FIRST = {"direction": "en-de", "teachers": 3, "student": dataclasses.asdict(RECIPE)}
BLEUS = {"teachers": 41.5, "student": 42.25}


def test_law_a_try_is_added_once_with_its_settings_and_the_code(tmp_path: Path):
    file = tmp_path / "tries_distill.json"
    for seed, weights in ((5, "a"), (6, "b"), (7, "a")):
        add_try(file, settings=FIRST, seed=seed, weights=weights, validation=BLEUS)
    found = json.loads(file.read_text("utf-8"))
    assert found["benchmark"] == "distill"
    assert [(each["seed"], each["weights"]) for each in found["tries"]] == [(5, "a"), (6, "b")]
    for each in found["tries"]:
        assert each["settings"] == FIRST
        assert each["validation"] == BLEUS
        assert each["commit"] == describe_code()["commit"]


@pytest.mark.message
@pytest.mark.parametrize("name", ["test", "student, test_2016_flickr"])
def test_message_a_try_with_a_test_score(tmp_path: Path, name: str):
    file = tmp_path / "tries_x.json"
    message = f"'{name}' is a test score, by which nothing may be chosen; leave it out"
    with pytest.raises(ValueError, match=message):
        add_try(file, settings={}, seed=0, weights="", validation={"student": 1.0, name: 2.0})
    assert not file.exists()


def test_law_nested_settings_get_one_name():
    found = flat(FIRST)
    assert found["teachers"] == 3
    assert (found["student.dropout"], found["student.steps"], found["student.average"]) == (0.3, 1234, 3)
    assert not {"student.shape", "student.training"} & set(found)


def test_law_only_what_differs_is_named():
    first = changes(FIRST, {})
    assert first.startswith("direction en-de, teachers 3; student: vocab_size 10,000, max_length 256, ")
    assert first.endswith("dropout 0.3, steps 1,234, max_lr 0.25, average 3")
    later = FIRST | {"teachers": 1, "student": dataclasses.asdict(replace(RECIPE, average=1))}
    assert changes(later, FIRST) == "teachers 1; student: average 1"  # also where it is the default
    assert changes(FIRST, FIRST) == ""
    older = json.loads(json.dumps(FIRST))
    del older["student"]["keep"]  # a setting that did not exist then had its default
    assert changes(FIRST, older) == ""


def test_law_a_table_has_a_row_for_each_try_or_says_that_there_is_none():
    record = {"date": "2026-11-29T01:02:03+00:00", "validation": BLEUS, "settings": {"teachers": 3}}
    tries = [record | {"seed": 5}, record | {"seed": 6}, record | {"seed": 5, "settings": {"teachers": 1}}]
    found = tries_table([{"benchmark": "distill", "tries": tries}, {"benchmark": "other", "tries": []}])
    assert found.splitlines() == [
        "`benchmarks.distill`:",
        "",
        "| try | date | seed | validation BLEU | settings |",
        "| --: | --- | --: | --- | --- |",
        "| 1 | 2026-11-29 | 5 | teachers 41.50, student 42.25 | teachers 3 |",
        "| 2 | 2026-11-29 | 6 | teachers 41.50, student 42.25 | as try 1 |",
        "| 3 | 2026-11-29 | 5 | teachers 41.50, student 42.25 | as try 1, but teachers 1 |",
        "",
        "`benchmarks.other` has no complete run yet.",
    ]


def test_law_the_committed_results_of_multi30k_are_among_its_tries():
    tries = json.loads((RESULTS / "tries_multi30k.json").read_text("utf-8"))["tries"]
    listed = [(each["commit"], each["seed"], each["settings"], each["validation"]) for each in tries]
    for path in sorted(RESULTS.glob("multi30k_seed*.json")):
        record = json.loads(path.read_text("utf-8"))
        results = record["results"]
        settings = {"drawn": multi30k.DRAWN} | {part: results[part]["recipe"] for part in PARTS}
        bleu = results["scores"]["multi30k"]["val, beam 5"]["bleu"]
        (found,) = [each for each in listed if each[:2] == (record["commit"], record["seed"])]
        assert found[2:] == (settings, {"student": pytest.approx(bleu, abs=0.005)})
