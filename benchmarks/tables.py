"""The tables of `benchmarks/README.md`, made from the results: `python -m benchmarks.tables` writes them.

A table stands between `<!-- table NAME -->` and `<!-- end NAME -->`, and is made of `results/NAME_*.json`:
one file for each seed, or for each kind of processor.
"""

import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS

README = Path(__file__).parent / "README.md"
PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text("utf-8"))["multi30k"]["bleu"]
Record = dict[str, Any]


def speed_table(result: Record, unit: str) -> str:
    """Return a line for each contestant: its speed, its memory, and how ours compare with it."""
    found, ratios = result["found"], result["ratios"]
    head = ["", f"{unit}, median", "lowest to highest", "peak MB", *(f"{ours} is" for ours in ratios)]
    lines = [row(head), row(["---", *["--:"] * (len(head) - 1)])]
    for name, line in found.items():
        if "absent" in line:
            lines.append(row([name, f"absent: {line['absent']}", *[""] * (len(head) - 2)]))
            continue
        speeds = line["per_second"]
        spread = f"{number(min(speeds))} to {number(max(speeds))}"
        times = [f"{of[name]:.2f} ×" if name in of else "" for of in ratios.values()]
        lines.append(row([name, number(statistics.median(speeds)), spread, number(line["peak_mb"]), *times]))
    return "\n".join(lines)


def train_table(records: list[Record]) -> str:
    """Return a table of training for each processor, and where it comes from."""
    return "\n\n".join(
        f"{speed_table(record['results'], 'target tokens/s')}\n\n{origin(record)}" for record in records
    )


def decode_table(records: list[Record]) -> str:
    """Return, for each processor, a table for each batch size, and where they come from."""
    parts = []
    for record in records:
        for name, result in record["results"].items():
            parts.append(f"**{name.capitalize()}**\n\n{speed_table(result, 'sentences/s')}")
        parts.append(origin(record))
    return "\n\n".join(parts)


def multi30k_table(records: list[Record]) -> str:
    """Return a line for each measure and set: the mean over the seeds, the spread, and each seed's BLEU.

    Raises:
        ValueError: If the seeds do not share a recipe, for then their mean means nothing.
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
            found = [record["results"]["scores"][measure][f"{split}, beam 5"]["bleu"] for record in records]
            known = f"{PUBLISHED[split]:.2f}" if measure == "multi30k" and split in PUBLISHED else ""
            spread = f"{min(found):.2f} to {max(found):.2f}"
            cells = [f"{statistics.mean(found):.2f}", spread, *(f"{bleu:.2f}" for bleu in found), known]
            lines.append(row([f"{measure}, {split}", *cells]))
    results = [record["results"] for record in records]
    sizes = {f"{result['student']['parameters']:,}" for result in results}
    minutes = ", ".join(f"{result['minutes']:.0f}" for result in results)
    steps = [{result[part]["epochs"][-1]["step"] for result in results} for part in PARTS]
    updates = [" or ".join(f"{step:,}" for step in sorted(part)) for part in steps]
    about = (
        f"{' or '.join(sizes)} parameters; updates: {updates[0]} of the shared model, with these the "
        f"forward teacher has {updates[1]}, {updates[2]} of the backward one, {updates[3]} of the student; "
        f"{minutes} minutes, validation and translations included."
    )
    return "\n".join([*lines, "", about, "", *(f"{origin(record)}\n" for record in records)]).rstrip()


def explorer_table(records: list[Record]) -> str:
    """Return, for each processor, how long a sentence takes in a browser, and where that comes from."""
    parts = []
    for record in records:
        found = record["results"]
        lines = [
            row(["milliseconds per sentence", "median", "lowest to highest"]),
            row(["---", "--:", "--:"]),
        ]
        for case, times in found["ms"].items():
            spread = f"{min(times):,.0f} to {max(times):,.0f}"
            lines.append(row([case, f"{statistics.median(times):,.0f}", spread]))
        about = (
            f"Chromium {found['browser']}; the model is there {found['load_ms']:,.0f} ms after it was asked "
            f"for, and the page holds {found['megabytes']:.0f} MB then."
        )
        parts += ["\n".join(lines), about, origin(record)]
    return "\n\n".join(parts)


PARTS = ("bidirectional", "forward", "backward", "student")
TABLES: dict[str, Callable[[list[Record]], str]] = {
    "train": train_table,
    "decode": decode_table,
    "multi30k": multi30k_table,
    "explorer": explorer_table,
}


def origin(record: Record) -> str:
    """Return a sentence on where and how a result was measured."""
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
    return f"{machine['processor']}{numbers}"


def row(cells: list[str]) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def number(value: float) -> str:
    """Return a speed with three digits or more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def with_tables(text: str, results: Path = RESULTS) -> str:
    """Return the text with each of its tables made anew.

    Raises:
        ValueError: If a table has a mark at one end only, or there is no such table.
    """
    names = re.findall(r"<!-- table (\w+) -->", text)
    for name in names:
        between = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if name not in TABLES or len(between.findall(text)) != 1:
            raise ValueError(
                f"table {name!r} needs one begin, one end and a maker; there are {sorted(TABLES)}"
            )
        files = sorted(results.glob(f"{name}_*.json"))
        table = TABLES[name]([json.loads(file.read_text("utf-8")) for file in files])
        before, begin, end, after = between.split(text)
        text = f"{before}{begin}\n{table}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
