"""The table of chapter 22: the parts of well-known models, from a committed result."""

from typing import Any

from annotated_transformer.book.results import read_result

# When each report was published, and its number on arXiv, which begins with year and month.
REPORTS = {
    "GPT-2": ("2019", ""), "T5": ("2019", "1910.10683"), "BLOOM": ("2022", "2211.05100"),
    "Llama 2 7B": ("2023", "2307.09288"), "Mistral 7B": ("2023", "2310.06825"),
    "Mixtral 8x7B": ("2024", "2401.04088"), "Gemma 7B": ("2024", "2403.08295"),
    "Gemma 2 2B": ("2024", "2408.00118"), "Gemma 3": ("2025", "2503.19786"), "Qwen2": ("2024", "2407.10671"),
    "Qwen3": ("2025", "2505.09388"), "Qwen3 MoE": ("2025", "2505.09388"),
    "DeepSeek-V3": ("2024", "2412.19437"),
    "OLMo 2": ("2024", "2501.00656"), "gpt-oss-120b": ("2025", "2508.10925"),
}  # fmt: skip
# Where published models have other numbers of heads than the library's defaults: from their reports.
GROUPED = dict.fromkeys(("Gemma 3", "Qwen2", "Qwen3", "Qwen3 MoE"), "grouped")
FROM_REPORTS = {"BLOOM": "all", "OLMo 2": "all or grouped", **GROUPED}


def families_table() -> str:
    """Return the table of parts in Markdown, one row for each model."""
    rows = read_result("families")["rows"]
    head = "model | year | norm | where | positions | keys and values | network | biases | window | experts"
    lines = [f"| {head} |", "| --- | --: | " + " | ".join(["---"] * (head.count("|") - 1)) + " |"]
    lines += [f"| {' | '.join(_cells(name, row))} |" for name, row in rows.items()]
    return "\n".join(lines)


def _cells(name: str, row: dict[str, Any]) -> list[str]:
    year, number = REPORTS[name]
    title = f"[{name}](https://arxiv.org/abs/{number})" if number else name
    norm = f"{row['norm']}\\*" if row["norm_of_queries"] else row["norm"]
    return [
        title, year, norm, row["place"], row["positions"], _keys(name, row),
        "gated" if row["gated"] else "plain",
        _biases(row["biases"]), _window(row),
        f"{row['active']} of {row['experts']}" if row["experts"] else "–",
    ]  # fmt: skip


def _keys(name: str, row: dict[str, Any]) -> str:
    """Return for how many heads keys and values are cached."""
    if row["latent"]:
        return "compressed"
    if name in FROM_REPORTS:
        return FROM_REPORTS[name]
    return "all" if row["kv_heads"] == row["heads"] else f"{row['kv_heads']} of {row['heads']}"


def _biases(parts: list[str]) -> str:
    if not parts:
        return "none"
    return "q, k, v" if parts == ["queries, keys, values"] else "yes"


def _window(row: dict[str, Any]) -> str:
    if not row["window"]:
        return "–"
    return f"in {row['windows_in']} layers" if row["windows_in"] else "in all layers"
