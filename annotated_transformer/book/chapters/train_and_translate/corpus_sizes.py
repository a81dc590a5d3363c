"""The table of BLEU by number of training pairs, made from a benchmark's result file."""

import json
from pathlib import Path
from typing import Any

CORPORA = {"tatoeba": "Tatoeba", "multi30k": "Multi30k"}
UNTOUCHED = "shipped, without fine-tuning"
MEASURE = "test, beam 5"
MISSING = (
    "*Not measured yet: `python -m benchmarks.own_sentences` trains these models and writes the result.*"
)
HEAD = (
    "| corpus | pairs | start | norm | BLEU, beam 5 | vocabulary | dropout | `--max-lr` | steps | epochs "
    "| best epoch | CPU minutes |\n"
    "| --- | --: | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |"
)


def corpus_size_table(path: Path) -> str:
    """Return the table in Markdown, or, if there is no such file, a sentence on how to measure it."""
    if not path.is_file():
        return MISSING
    record = json.loads(path.read_text("utf-8"))
    results = record["results"]
    trained = {name: result for name, result in results.items() if name != UNTOUCHED}
    order = sorted(trained, key=lambda name: (name.endswith("fine_tuned"), name.split("_")[0] != "tatoeba"))
    rows = [_row(name, trained[name]) for name in order]
    untouched = results[UNTOUCHED]["scores"][MEASURE]
    rows.append(f"| Multi30k | none | `en-de` | post | {untouched['bleu']:.1f} | | | | | | | |")
    return "\n".join([HEAD, *rows, "", _about(record, list(trained.values()), untouched)])


def _row(name: str, result: dict[str, Any]) -> str:
    training, bleu = result["training"], result["scores"][MEASURE]["bleu"]
    shape, limits, epochs = training["recipe"]["shape"], training["recipe"]["training"], training["epochs"]
    lowest = min(epochs, key=lambda epoch: float(epoch["validation_loss"]))["epoch"]
    cells = [
        CORPORA[name.split("_")[0]],
        f"{training['training_pairs']:,}",
        "`en-de`" if name.endswith("fine_tuned") else "random",
        shape["norm"],
        f"{bleu:.1f}",
        f"{shape['vocab_size']:,}",
        f"{shape['dropout']}",
        f"{limits['max_lr']}",
        f"{limits['steps']:,}",
        f"{len(epochs)}",
        f"{lowest}",
        f"{training['cpu_minutes']:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def _about(record: dict[str, Any], trained: list[dict[str, Any]], untouched: dict[str, Any]) -> str:
    sizes = [result["training"]["parameters"] for result in trained]
    scores = [result["scores"][MEASURE] for result in trained] + [untouched]
    (signature,) = {score["signature"] for score in scores}
    (texts,) = {score["texts"] for score in scores}
    recipes = [result["training"]["recipe"] for result in trained]
    (batch,) = {recipe["training"]["batch_tokens"] for recipe in recipes}
    (warmup,) = {recipe["training"]["warmup_steps"] for recipe in recipes}
    (average,) = {recipe["average"] for recipe in recipes}
    return (
        f"One run each (seed {record['seed']}), so small differences may be due to chance. Models of "
        f"{min(sizes):,} to {max(sizes):,} parameters; `--batch-tokens {batch} --warmup-steps {warmup} "
        f"--average {average}`; CPU time of one core ({record['machine']['processor']}); {texts:,} test "
        f"sentences; sacreBLEU signature `{signature}`. "
        f"The best epoch has the lowest validation loss. BLEU on different test sets cannot be compared."
    )
