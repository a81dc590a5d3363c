"""Generate the tables in `benchmarks/README.md` from the results: `python -m benchmarks.tables`.

A table stands between `<!-- table NAME -->` and `<!-- end NAME -->` and is generated from `NAME_*.json` in
`annotated_transformer/book/results/`: one file per seed, per kind of processor, or for one setting. Chapter 1
has the rows of the tables *recall*, *copying*, and *lengths*, too, and chapter 4 those of *lengths*.
"""

import json
import math
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS
from benchmarks.tries import changes

README = Path(__file__).parent / "README.md"
PUBLISHED = json.loads((RESULTS / "published.json").read_text("utf-8"))["multi30k"]["bleu"]
Record = dict[str, Any]


def speed_table(result: Record, unit: str) -> str:
    """Return a row for each contestant: its speed, its memory, and the speedup of ours over it."""
    timings, ratios = result["found"], result["ratios"]
    head = ["", f"{unit}, median", "lowest to highest", "peak MB", *(f"speedup of {ours}" for ours in ratios)]
    lines = [row(head), row(["---", *["--:"] * (len(head) - 1)])]
    for name, line in timings.items():
        if "absent" in line:
            lines.append(row([name, f"absent: {line['absent']}", *[""] * (len(head) - 2)]))
            continue
        speeds = line["per_second"]
        spread = f"{number(min(speeds))} to {number(max(speeds))}"
        times = [f"{of[name]:.2f} ×" if name in of else "" for of in ratios.values()]
        lines.append(row([name, number(statistics.median(speeds)), spread, number(line["peak_mb"]), *times]))
    return "\n".join(lines)


def train_table(records: list[Record]) -> str:
    """Return, for each processor, a table of training speeds and its origin."""
    return "\n\n".join(
        f"{speed_table(record['results'], 'target tokens/s')}\n\n{shares(record)}{origin(record)}"
        for record in records
    )


def shares(record: Record) -> str:
    """Return a paragraph with the share of the device's peak that each contestant reached, if it is known."""
    if (peak := record["results"].get("peak")) is None:
        return ""
    reached = ", ".join(f"{name} {share:.1%}" for name, share in peak["shares"].items())
    return f"Share of {peak['tflops']:g} TFLOP/s, by 6 × weights × target tokens/s: {reached}.\n\n"


def decode_table(records: list[Record]) -> str:
    """Return, for each processor, a table for each batch size and their origin."""
    parts = []
    for record in records:
        for name, result in record["results"].items():
            parts.append(f"**{name.capitalize()}**\n\n{speed_table(result, 'sentences/s')}")
        parts.append(origin(record))
    return "\n\n".join(parts)


def multi30k_table(records: list[Record]) -> str:
    """Return a row for each measure and split: the mean and range over the seeds, and each seed's BLEU.

    Raises:
        ValueError: If the seeds have different recipes, which makes their mean meaningless.
    """
    recipes = [{part: record["results"][part]["recipe"] for part in PARTS} for record in records]
    for record, recipe in zip(records, recipes, strict=True):
        if differing := [part for part in PARTS if recipe[part] != recipes[0][part]]:
            raise ValueError(
                f"seed {record['seed']} has another recipe than seed {records[0]['seed']} for "
                f"{', '.join(differing)}; run benchmarks.multi30k again for the older of them"
            )
    seeds = [f"seed {record['seed']}" for record in records]
    lines = [row(["BLEU, beam 5", "mean", "lowest to highest", *seeds, "published"])]
    lines.append(row(["---", *["--:"] * (len(seeds) + 3)]))
    for measure in records[0]["results"]["scores"]:
        for split in ("val", *PUBLISHED):
            bleus = [record["results"]["scores"][measure][f"{split}, beam 5"]["bleu"] for record in records]
            known = f"{PUBLISHED[split]:.2f}" if measure == "multi30k" and split in PUBLISHED else ""
            spread = f"{min(bleus):.2f} to {max(bleus):.2f}"
            cells = [f"{statistics.mean(bleus):.2f}", spread, *(f"{bleu:.2f}" for bleu in bleus), known]
            lines.append(row([f"{measure}, {split}", *cells]))
    results = [record["results"] for record in records]
    sizes = {f"{result['student']['parameters']:,}" for result in results}
    minutes = ", ".join(f"{result['minutes']:.0f}" for result in results)
    steps = [{result[part]["epochs"][-1]["step"] for result in results} for part in PARTS]
    updates = [" or ".join(f"{step:,}" for step in sorted(part)) for part in steps]
    about = (
        f"{' or '.join(sizes)} parameters. Updates: {updates[0]} for the shared model, {updates[1]} for the "
        f"forward teacher (these included), {updates[2]} for the backward teacher, {updates[3]} for the "
        f"student. Minutes for each seed, including validation and the teachers' translations: {minutes}."
    )
    return "\n".join([*lines, "", about, "", *(f"{origin(record)}\n" for record in records)]).rstrip()


def explorer_table(records: list[Record]) -> str:
    """Return, for each processor, a table of the time per sentence in a browser and its origin."""
    parts = []
    for record in records:
        results = record["results"]
        lines = [
            row(["milliseconds per sentence", "median", "lowest to highest"]),
            row(["---", "--:", "--:"]),
        ]
        for case, times in results["ms"].items():
            spread = f"{min(times):,.0f} to {max(times):,.0f}"
            lines.append(row([case, f"{statistics.median(times):,.0f}", spread]))
        about = (
            f"Chromium {results['browser']}. Loading the model takes {results['load_ms']:,.0f} ms; "
            f"after that, the page's objects and arrays take {results['megabytes']:.0f} MB."
        )
        parts += ["\n".join(lines), about, origin(record)]
    return "\n\n".join(parts)


def recall_table(records: list[Record]) -> str:
    """Return, for each result, the table of chapter 1 about reporting the first word, and its origin."""
    return "\n\n".join(f"{recall_rows(record['results'])}\n\n{origin(record)}" for record in records)


def recall_rows(results: Record) -> str:
    """Return a row for each network and learning rate, with the percentage of each seed."""
    groups: dict[tuple[str, float], list[Record]] = {}
    for run in results["runs"]:
        groups.setdefault((run["network"], run["learning_rate"]), []).append(run)
    budgets = list(results["runs"][0]["accuracy"])
    head = ["network", "learning rate", "gradient", *(f"{int(budget):,} updates" for budget in budgets)]
    lines = [row(head), row(["---", *["--:"] * (len(head) - 1)])]
    for (network, rate), runs in groups.items():
        powers = [round(math.log10(run["gradient_at_start"])) for run in runs]
        gradient = span([str(power).replace("-", "−") for power in sorted(powers)])
        shares = [", ".join(percent(run["accuracy"][budget]) for run in runs) for budget in budgets]
        lines.append(row([network, str(rate), gradient, *shares]))
    return "\n".join(lines)


def copying_table(records: list[Record]) -> str:
    """Return, for each result, the table of chapter 1 about repeated sentences, and its origin."""
    return "\n\n".join(f"{copying_rows(record['results'])}\n\n{origin(record)}" for record in records)


def copying_rows(results: Record) -> str:
    """Return a row for each model and length, with the percentages of correct words over the seeds."""
    cases = results["cases"]
    budgets = sorted({int(budget) for case in cases for budget in case["shares"]})
    head = ["model", "words", *(f"{budget:,} updates" for budget in budgets)]
    lines = [row(head), row(["---", *["--:"] * (len(head) - 1)])]
    for case in cases:
        kept = "all states, {} numbers each" if case["model"] == "AverageCopier" else "one vector, {} numbers"
        shares = [case["shares"].get(str(budget), []) for budget in budgets]
        cells = [span([percent(share) for share in sorted(found)]) for found in shares]
        lines.append(row([kept.format(case["size"]), str(case["words"]), *cells]))
    return "\n".join(lines)


def lengths_table(records: list[Record]) -> str:
    """Return, for each processor, the tables of chapters 4, 3, and 1 about the length of a sentence."""
    parts = (loop_rows, score_rows, update_rows)
    return "\n\n".join(
        "\n\n".join([*(part(record["results"]) for part in parts), origin(record)]) for record in records
    )


def loop_rows(results: Record) -> str:
    """Return a row for each length: how many times as long the loops take as the products."""
    return lengths_rows(results["loops"], lambda ratio: f"{ratio:,.0f} ×")


def score_rows(results: Record) -> str:
    """Return a row for each length: how many times as long an additive score takes as a dot product."""
    return lengths_rows(results["scores"], lambda ratio: f"{ratio:,.1f} ×")


def update_rows(results: Record) -> str:
    """Return a row for each length: the time of a recurrent layer, in percent of that of self-attention."""
    return lengths_rows(results["updates"], percent)


def lengths_rows(lengths: Record, write: Callable[[float], str]) -> str:
    """Return a row for each length, with the time of each contestant as a multiple of ours."""
    rows = {int(words): next(iter(found["ratios"].values())) for words, found in lengths.items()}
    head = ["words", *next(iter(rows.values()))]
    lines = [row(head), row(["--:"] * len(head))]
    for words, ratios in rows.items():
        lines.append(row([f"{words:,}", *map(write, ratios.values())]))
    return "\n".join(lines)


def everyday_table(records: list[Record]) -> str:
    """Return how many everyday sentences each search translates right, for each direction, and origins."""
    searches = list(records[0]["results"]["right"])
    lines = [row(["right", *searches, "of"]), row(["---", *["--:"] * (len(searches) + 1)])]
    for found in (record["results"] for record in records):
        lines.append(row([found["direction"], *map(str, (*found["right"].values(), found["sentences"]))]))
    return "\n\n".join(["\n".join(lines), *map(origin, records)])


def tries_table(records: list[Record]) -> str:
    """Return a row for each complete run of each benchmark, in their order, or that there is none.

    The settings of the first run are those that differ from the defaults; those of later ones, from it.
    """
    parts = []
    for record in records:
        name, tries = f"`benchmarks.{record['benchmark']}`", record["tries"]
        head = ["try", "date", "seed", "validation BLEU", "settings"]
        lines = [row(head), row(["--:", "---", "--:", "---", "---"])]
        for place, each in enumerate(tries, start=1):
            bleus = ", ".join(f"{model} {bleu:.2f}" for model, bleu in each["validation"].items())
            settings = changes(each["settings"], {} if place == 1 else tries[0]["settings"])
            settings = settings if place == 1 else f"as try 1{', but ' * bool(settings)}{settings}"
            lines.append(row([str(place), each["date"][:10], str(each["seed"]), bleus, settings]))
        parts.append("\n".join([f"{name}:", "", *lines]) if tries else f"{name} has no complete run yet.")
    return "\n\n".join(parts)


def percent(share: float) -> str:
    """Return a share in percent, without decimals."""
    return f"{100 * share:.0f}"


def span(sorted_values: list[str]) -> str:
    """Return the first and last of sorted values, once if they are equal, or nothing without values."""
    return " to ".join(dict.fromkeys([*sorted_values[:1], *sorted_values[-1:]]))


PARTS = ("bidirectional", "forward", "backward", "student")
TABLES: dict[str, Callable[[list[Record]], str]] = {
    "train": train_table,
    "decode": decode_table,
    "multi30k": multi30k_table,
    "explorer": explorer_table,
    "recall": recall_table,
    "copying": copying_table,
    "lengths": lengths_table,
    "everyday": everyday_table,
    "tries": tries_table,
}


def origin(record: Record) -> str:
    """Return a line that states where and how a result was measured."""
    machine, versions = record["machine"], record["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    threads = f"{machine['threads']} thread" + "s" * (machine["threads"] > 1)
    threads += "".join(f", {name} preloaded" for name in machine.get("preloaded", []))
    commit = f"commit {(record['commit'] or 'unknown')[:10]}" + " with changes" * bool(record["dirty"])
    return (
        f"`{record['command']}`, {record['date'][:10]}, {commit}, seed {record['seed']}; "
        f"{processor(machine)} ({machine['instructions']}), {machine['cores']} cores, "
        f"{machine['memory_gb']:.0f} GB, {threads}; {packages}."
    )


def processor(machine: Record) -> str:
    """Return the processor's name, with its family and model where they were recorded."""
    numbers = f", family {machine['family']}, model {machine['model']}" if machine.get("family") else ""
    card = (
        f"{machine['card']}, driver {machine['driver']}, CUDA {machine['cuda']}; "
        if "card" in machine
        else ""
    )
    return f"{card}{machine['processor']}{numbers}"


def row(cells: list[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def number(value: float) -> str:
    """Return a number with one decimal, or none from 100 on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def with_tables(text: str, results: Path = RESULTS) -> str:
    """Return the text with all its tables regenerated.

    Raises:
        ValueError: If a table has no end mark, occurs twice, or has an unknown name.
    """
    names = re.findall(r"<!-- table (\w+) -->", text)
    for name in names:
        between = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if name not in TABLES or len(between.findall(text)) != 1:
            raise ValueError(
                f"table {name!r} needs one start mark, one end mark, and a name from {sorted(TABLES)}"
            )
        files = sorted(results.glob(f"{name}_*.json"))
        table = TABLES[name]([json.loads(file.read_text("utf-8")) for file in files])
        before, begin, end, after = between.split(text)
        text = f"{before}{begin}\n{table}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
