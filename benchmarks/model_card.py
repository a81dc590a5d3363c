"""Model cards of the shipped models; every number in them comes from the result files.

    python -m benchmarks.model_card

regenerates the cards after a change to `model_card.template.md`.
"""

import json
from pathlib import Path
from typing import Any

from annotated_transformer.book.results import training_stages
from annotated_transformer.checkpointing.checkpoint import EN_DE, pretrained_folder, pretrained_names
from annotated_transformer.checkpointing.files import write_together
from benchmarks.record import RESULTS

LANGUAGES = {"en": "English", "de": "German"}
CARD = (Path(__file__).parent / "model_card.template.md").read_text(encoding="utf-8")


def model_card(record: dict[str, Any]) -> str:
    """Return the Markdown card of a model, given the result file that `benchmarks.ship` wrote."""
    results = record["results"]
    training, runs = results["training"], [stage["training"] for stage in training_stages(results)]
    recipe, (text, *_) = training["results"]["recipe"], results["examples"]
    name = f"{results['source']}-{results['target']}"
    turned = "" if name == EN_DE else f"--source {results['source']} --target {results['target']} "
    scores = {f"{key} (greedy)" if key[-1] == "1" else key: x for key, x in results["scores"].items()}
    joined = {"1": results["scores"]["test, beam 5"]} | results["joined"]
    return CARD.format(
        from_=LANGUAGES[results["source"]],
        into=LANGUAGES[results["target"]],
        name=name,
        text=text,
        languages=turned,
        parameters=results["parameters"],
        megabytes=sum(file["bytes"] for file in results["files"].values()) / 1e6,
        examples=_table(("text", "translation"), results["examples"].items()),
        scores=_table(
            ("split and search", "sentences", "BLEU"),
            [(key, f"{x['texts']:,}", f"{x['bleu']:.2f}") for key, x in scores.items()],
        ),
        signature=results["scores"]["test, beam 5"]["signature"],
        mean_words=results["corpus"]["mean_words"],
        long=results["corpus"]["words_of_99_percent"],
        joined=_table(
            ("sentences in one text", "BLEU"), [(key, f"{x['bleu']:.2f}") for key, x in joined.items()]
        ),
        beyond=_table(("text", "translation"), results["beyond"].items()),
        positions=recipe["shape"]["max_length"],
        layers=recipe["shape"]["num_layers"],
        d_model=recipe["shape"]["d_model"],
        d_ff=recipe["shape"]["d_ff"],
        heads=recipe["shape"]["num_heads"],
        vocabulary=results["vocabulary"],
        steps=" and then ".join(f"{run['results']['epochs'][-1]['step']:,}" for run in runs),
        pairs=results["corpus"]["pairs"]["train"],
        average=" and then ".join(
            str(min(run["results"]["recipe"]["average"], len(run["results"]["epochs"]))) for run in runs
        ),
        seed=training["seed"],
        commands="\n".join(map(_command, runs)),
        result=f"annotated_transformer/book/results/weights_{name}.json",
        terms=results["corpus"]["terms"],
    )


def _command(run: dict[str, Any]) -> str:
    """Return the command of a training run, below when, on what, and with which code it ran."""
    commit = f"commit {(run['commit'] or 'unknown')[:12]}{' with changes' if run['dirty'] else ''}"
    return f"# {run['date'][:10]}, {run['machine']['processor']}, {commit}\n{run['command']}"


def _table(head: tuple[str, ...], rows: Any) -> str:
    """Return a Markdown table; vertical bars in cells are escaped, and line breaks become spaces."""
    cells = [
        head,
        ("---",) * len(head),
        *([" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def write_card(name: str, results: Path = RESULTS) -> None:
    """Write the card of a shipped model from its result file into the model's folder."""
    record = json.loads((results / f"weights_{name}.json").read_text(encoding="utf-8"))
    write_together(pretrained_folder(name), {"README.md": model_card(record).encode()})


if __name__ == "__main__":
    for model in pretrained_names():
        write_card(model)
