"""Generate the tables of decoding in `benchmarks/README.md`: `python -m benchmarks.tables`.

They are those of `annotated_transformer/book/results/decode_*.json`, one file per kind of processor.
"""

import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS

README = Path(__file__).parent / "README.md"
Record = dict[str, Any]


def speed_table(result: Record) -> str:
    """Return a row for each contestant: its speed, its memory, and the speedup of ours over it."""
    timings, ratios = result["found"], result["ratios"]
    head = ["", "sentences/s, median", "lowest to highest", "peak MB", *(f"speedup of {o}" for o in ratios)]
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


def tables(record: Record) -> str:
    """Return a table for each batch size, and their origin."""
    sizes = record["results"].items()
    parts = [f"**{size.capitalize()}**\n\n{speed_table(result)}" for size, result in sizes]
    return "\n\n".join([*parts, origin(record)])


def origin(record: Record) -> str:
    """Return a line that states where and how a result was measured."""
    machine, versions = record["machine"], record["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    threads = f"{machine['threads']} thread" + "s" * (machine["threads"] > 1)
    threads += "".join(f", {name} preloaded" for name in machine.get("preloaded", []))
    kind = f", family {machine['family']}, model {machine['model']}" if machine.get("family") else ""
    commit = f"commit {(record['commit'] or 'unknown')[:10]}" + " with changes" * bool(record["dirty"])
    return (
        f"`{record['command']}`, {record['date'][:10]}, {commit}, seed {record['seed']}; "
        f"{machine['processor']}{kind} ({machine['instructions']}), {machine['cores']} cores, "
        f"{machine['memory_gb']:.0f} GB, {threads}; {packages}."
    )


def row(cells: list[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def number(value: float) -> str:
    """Return a number with one decimal, or none from 100 on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def with_tables(text: str) -> str:
    """Return the text with its tables regenerated."""
    records = [json.loads(file.read_text("utf-8")) for file in sorted(RESULTS.glob("decode_*.json"))]
    begin, end = "<!-- table decode -->", "<!-- end decode -->"
    before, after = text.partition(begin)[0], text.partition(end)[2]
    return "\n\n".join([before + begin, *map(tables, records), end + after])


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
