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
from benchmarks import record

LANGUAGES = {"en": "English", "de": "German"}
CARD = (Path(__file__).parent / "model_card.template.md").read_text(encoding="utf-8")


def model_card(results: dict[str, Any]) -> str:
    """Return the Markdown card of a model, given the results that `benchmarks.shipped_model` wrote."""
    training, runs = results["training"], [stage["training"] for stage in training_stages(results)]
    source, target = results["source"], results["target"]
    name = f"{source}-{target}"
    scores = {f"{key} (greedy)" if key[-1] == "1" else key: x for key, x in results["scores"].items()}
    joined = {"1": results["scores"]["test, beam 5"]} | results["joined"]
    averages = [min(run["results"]["recipe"]["average"], len(run["results"]["epochs"])) for run in runs]
    return CARD.format(
        results=results,
        corpus=results["corpus"],
        training=training,
        shape=training["results"]["recipe"]["shape"],
        from_=LANGUAGES[source],
        into=LANGUAGES[target],
        name=name,
        text=next(iter(results["examples"])),
        languages="" if name == EN_DE else f"--source {source} --target {target} ",
        megabytes=sum(file["bytes"] for file in results["files"].values()) / 1e6,
        examples=_table(("text", "translation"), results["examples"].items()),
        scores=_table(
            ("split and search", "sentences", "BLEU"),
            [(key, f"{x['texts']:,}", f"{x['bleu']:.2f}") for key, x in scores.items()],
        ),
        joined=_table(
            ("sentences in one text", "BLEU"), [(key, f"{x['bleu']:.2f}") for key, x in joined.items()]
        ),
        beyond=_table(("text", "translation"), results["beyond"].items()),
        steps=" and then ".join(f"{run['results']['epochs'][-1]['step']:,}" for run in runs),
        average=" and then ".join(map(str, averages)),
        commands="\n".join(map(_command, runs)),
    )


def _command(run: dict[str, Any]) -> str:
    """Return the command of a training run, below when, on what, and with which code it ran."""
    commit = f"commit {(run['commit'] or 'unknown')[:12]}{' with changes' if run['dirty'] else ''}"
    return f"# {run['date'][:10]}, {run['machine']['processor']}, {commit}\n{run['command']}"


def _table(head: tuple[str, ...], rows: Any) -> str:
    """Return a Markdown table; vertical bars in cells are escaped, and line breaks become spaces."""
    body = [[" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ("---",) * len(head), *body])


def write_card(name: str) -> None:
    """Write the card of a shipped model from its result file into the model's folder."""
    results = json.loads((record.RESULTS / f"weights_{name}.json").read_text(encoding="utf-8"))["results"]
    write_together(pretrained_folder(name), {"README.md": model_card(results).encode()})


if __name__ == "__main__":
    for model in pretrained_names():
        write_card(model)
