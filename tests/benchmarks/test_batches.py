"""What the benchmark of batches counts, and the counts in chapter 15."""

import re
from pathlib import Path

import pytest
import torch

from annotated_transformer.book.results import read_result
from annotated_transformer.text.tokenizer import SPECIAL_TOKENS
from benchmarks.batches import BATCH_TOKENS, matches, padding, random_batches, split_at_random

ROOT = Path(__file__).resolve().parents[2]
FOUND = read_result("batches")
TEXT = re.sub(r" *<!--.*?-->", "", (ROOT / "chapters/src/15_text_to_batches.md").read_text("utf-8"))


def span(values: list, end: str = "") -> str:
    """Return the smallest and the largest value, once if they are written the same."""
    low, high = (f"{value:,.0f}" for value in (min(values), max(values)))
    return f"{low}{end}" if low == high else f"{low} to {high}{end}"


@pytest.mark.parametrize("split", ["by pair", "by source", "by family"])
def test_law_chapter_15_has_the_counts_of_pairs_that_leak(split):
    runs = [run for run in FOUND["tatoeba"] if run["split"] == split]
    assert len(runs) == 3
    pairs, *counts = ([run[name] for run in runs] for name in ("pairs", "exact either", "normalized either"))
    shares = [100 * run["normalized either"] / run["pairs"] for run in runs]
    assert f"| {span(pairs)} | {span(counts[0])} | {span(counts[1])} | {span(shares, '%')} |" in TEXT


@pytest.mark.parametrize("corpus", ["multi30k", "tatoeba"])
def test_law_chapter_15_has_the_shares_of_padding(corpus):
    cells = []
    for order in ("random", "by length"):
        runs = [run for run in FOUND["padding"][corpus] if run["order"] == order]
        shares, batches = [100 * run["padding"] for run in runs], [run["batches"] for run in runs]
        cells.append(f"{span(shares, '%')}, {span(batches)} batches")
    assert f"| {' | '.join(cells)} |" in TEXT


def test_law_chapter_15_has_the_other_counts_of_its_benchmark():
    published = FOUND["multi30k"].values()
    five, of = (sum(split[name] for split in published) for name in ("normalized either", "pairs"))
    assert five == 5
    assert f"five of {of:,} pairs" in TEXT
    pieces = FOUND["pieces"]
    both = pieces["both"]
    for side, words in (("source", "English uses {:,} of the pieces"), ("target", "German {:,}")):
        assert words.format(pieces[f"{side} only"] + both) in TEXT
    english, german = pieces["source only"], pieces["target only"]
    assert f"{english:,} pieces occur only in the English training sentences and {german:,} only in" in TEXT
    used = both + english + german
    unused = pieces["vocabulary"] - used - len(SPECIAL_TOKENS)
    assert f"Another {unused} entries (special tokens aside)" in TEXT
    shares = [pieces[f"{side} tokens in both"] / pieces[f"{side} tokens"] for side in ("source", "target")]
    assert f"Both use {both:,}, which is {both / used:.0%}" in TEXT
    assert "{:.0%} of the English tokens and {:.0%}".format(*shares) in TEXT


def test_law_a_sentence_matches_exactly_or_without_case_and_punctuation():
    test = [("A dog.", "Ein Hund."), ("A cat.", "Die Katze!"), ("So?", "Ach.")]
    train = [("a dog", "Hund"), ("The cat.", "Die Katze!"), ("so", "ach")]
    found = matches(test, train)
    assert [found[f"exact {side}"] for side in ("source", "target", "either", "pair")] == [0, 1, 1, 0]
    assert [found[f"normalized {side}"] for side in ("source", "target", "either", "pair")] == [2, 2, 3, 1]


def test_law_a_split_by_source_keeps_its_translations_together():
    pairs = [(f"{n // 3}.", f"{n}!") for n in range(300)]
    for by_source, shared in ((True, False), (False, True)):
        splits = split_at_random(pairs, 0, by_source=by_source)
        assert sorted(splits["train"] + splits["test"]) == sorted(pairs)
        sources = [{source for source, _ in splits[name]} for name in ("train", "test")]
        assert bool(sources[0] & sources[1]) is shared


def test_law_a_random_batch_has_no_more_tokens_than_the_budget():
    lengths = torch.randint(1, 60, (400,), generator=torch.Generator().manual_seed(0)).tolist()
    batches = random_batches([([1] * n, [1] * (n // 2)) for n in lengths], torch.Generator().manual_seed(1))
    assert sorted(row for batch in batches for row in batch.rows) == [*range(400)]
    assert max(batch.src.numel() for batch in batches) <= BATCH_TOKENS
    empty = sum(int((side == 0).sum()) for batch in batches for side in (batch.src, batch.tgt))
    assert padding(batches)["padding"] == pytest.approx(
        empty / sum(b.src.numel() + b.tgt.numel() for b in batches)
    )
