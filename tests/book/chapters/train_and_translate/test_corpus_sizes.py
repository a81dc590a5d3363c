"""The table of corpus sizes shows each number of the benchmark result in the right row."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from annotated_transformer.book.chapters.train_and_translate.corpus_sizes import HEAD, corpus_size_table
from annotated_transformer.config import TINY
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe
from benchmarks.own_sentences import CASES
from benchmarks.record import RESULTS

GUIDE = Path(__file__).parents[4] / "chapters" / "src" / "train_and_translate.md"
SIGNATURE = "nrefs:1|tok:13a"


def score(bleu: float) -> dict[str, Any]:
    """Return a model's scores; the table shows only the second one."""
    scores = {"test, beam 1": 3.0, "test, beam 5": bleu}
    return {name: {"bleu": value, "texts": 1009, "signature": SIGNATURE} for name, value in scores.items()}


def trained(pairs: int, bleu: float, losses: list[float], **shape: object) -> dict[str, Any]:
    training = TrainingConfig(steps=2003, batch_tokens=499, warmup_steps=211, max_lr=0.007)
    recipe = Recipe(shape=dataclasses.replace(TINY, **shape), training=training, average=3)
    epochs = [{"epoch": number, "validation_loss": loss} for number, loss in enumerate(losses, start=1)]
    found = {"recipe": dataclasses.asdict(recipe), "training_pairs": pairs, "epochs": epochs}
    return {"training": found | {"parameters": 1000 * pairs, "cpu_minutes": 7.6}, "scores": score(bleu)}


def written(folder: Path) -> Path:
    """Write a result file of three models, the last two in reverse order."""
    results = {
        "multi30k_1013": trained(1013, 5.96, [3.0, 2.0, 2.5], vocab_size=701, norm="pre"),
        "tatoeba_997_fine_tuned": trained(997, 11.04, [1.0, 2.0], dropout=0.25),
        "tatoeba_1201": trained(1201, 17.0, [2.0], vocab_size=1301, dropout=0.2),
        "shipped, without fine-tuning": {"scores": score(9.04)},
    }
    record = {"seed": 11, "machine": {"processor": "an abacus"}, "results": results}
    (folder / "own_sentences.json").write_text(json.dumps(record), encoding="utf-8")
    return folder / "own_sentences.json"


def test_law_each_number_stands_in_its_row(tmp_path: Path):
    rows, about = corpus_size_table(written(tmp_path)).split("\n\n")
    assert rows.startswith(HEAD)
    assert rows.removeprefix(HEAD).split("\n")[1:] == [
        "| Tatoeba | 1,201 | random | post | 17.0 | 1,301 | 0.2 | 0.007 | 2,003 | 1 | 1 | 8 |",
        "| Multi30k | 1,013 | random | pre | 6.0 | 701 | 0.3 | 0.007 | 2,003 | 3 | 2 | 8 |",
        "| Tatoeba | 997 | `en-de` | post | 11.0 | 10,000 | 0.25 | 0.007 | 2,003 | 2 | 1 | 8 |",
        "| Multi30k | none | `en-de` | post | 9.0 | | | | | | | |",
    ]
    assert {row.count(" |") for row in rows.splitlines()} == {12}
    for words in (
        "seed 11",
        "997,000 to 1,201,000 parameters",
        "`--batch-tokens 499 --warmup-steps 211 --average 3`",
        "(an abacus)",
        "1,009 test sentences",
        f"`{SIGNATURE}`",
    ):
        assert words in about


def test_law_without_a_result_the_page_says_how_to_measure_it(tmp_path: Path):
    found = corpus_size_table(tmp_path / "own_sentences.json")
    assert found.startswith("*Not measured yet: `python -m benchmarks.own_sentences` ")
    assert "|" not in found


def test_law_scores_of_two_protocols_are_not_in_one_table(tmp_path: Path):
    path = written(tmp_path)
    path.write_text(path.read_text("utf-8").replace(SIGNATURE, "nrefs:1|tok:char", 2), encoding="utf-8")
    with pytest.raises(ValueError, match="too many values"):
        corpus_size_table(path)


def test_law_the_guides_command_has_the_settings_of_a_case():
    (case,) = [case for case in CASES if case.fine_tuned and case.pairs == 5_000]
    text = GUIDE.read_text("utf-8")
    average = case.recipe().average
    options = f"--steps {case.steps} --max-lr 1e-3 --dropout {case.dropout} --average {average} --out FOLDER"
    assert case.max_lr == 1e-3
    assert options in text
    assert "the command below uses the settings of the row with 5,000 pairs" in text


def test_law_more_pairs_give_a_higher_bleu_and_only_post_norm_on_few_pairs_collapses():
    results = json.loads((RESULTS / "own_sentences.json").read_text("utf-8"))["results"]
    found = {case: results[case.name] for case in CASES}
    for case, result in found.items():
        last = result["training"]["epochs"][-1]
        collapsed = case.norm == "post" and not case.fine_tuned
        assert (last["encoder_cosine"] > 0.9) == collapsed, case
        assert (last["encoder_cosine"] < 0.5) == (not collapsed), case
    bleu = {case: result["scores"]["test, beam 5"]["bleu"] for case, result in found.items()}
    for corpus, fine_tuned in (("tatoeba", False), ("multi30k", False), ("multi30k", True)):
        same = [
            case
            for case in CASES
            if (case.corpus, case.fine_tuned) == (corpus, fine_tuned) and case.norm == "pre"
        ]
        few_to_many = sorted(same, key=lambda case: case.pairs)
        assert [bleu[case] for case in few_to_many] == sorted(bleu[case] for case in same)
