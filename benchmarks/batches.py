"""How many test sentences are in the training data, what do languages share, and how much is padding?

    python -m benchmarks.batches --data DIR

`DIR` has the folders `multi30k` and `tatoeba`. The result has counts only, no sentences. A sentence matches
exactly, or normalized: without differences in case and punctuation.
"""

import random
from collections import Counter
from collections.abc import Callable
from itertools import chain

import torch

from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.batching import (
    Batch,
    Pair,
    batch_of,
    encode_pairs,
    fill_batches,
    make_batches,
)
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.sentence_pairs import SentencePair, Splits, split_by_sentence
from annotated_transformer.text.tokenizer import EOS_ID, Tokenizer
from annotated_transformer.text.words import normalized_words
from benchmarks.record import RESULTS, begin, data_parser, write_result

SEEDS = (0, 1, 2)
SHARE = 0.01  # of the pairs, or of the groups of pairs, for the test split
BATCH_TOKENS = 4096
VOCABULARY = 8000


def matches(test: list[SentencePair], train: list[SentencePair]) -> dict[str, int]:
    """Count the test pairs whose source, target, either of them, or both together are in `train`."""
    counts = {"pairs": len(test)}
    for name, form in (("exact", str), ("normalized", normalized_words)):
        known = [{form(pair[side]) for pair in train} for side in (0, 1)]
        hits = [[form(pair[side]) in known[side] for side in (0, 1)] for pair in test]
        whole = {(form(src), form(tgt)) for src, tgt in train}
        counts[f"{name} source"] = sum(hit[0] for hit in hits)
        counts[f"{name} target"] = sum(hit[1] for hit in hits)
        counts[f"{name} either"] = sum(any(hit) for hit in hits)
        counts[f"{name} pair"] = sum((form(src), form(tgt)) in whole for src, tgt in test)
    return counts


def split_at_random(pairs: list[SentencePair], seed: int, *, by_source: bool) -> Splits:
    """Return a training and a test split, drawn pair by pair or source sentence by source sentence."""
    rng = random.Random(seed)
    groups = sorted({pair[0] for pair in pairs} if by_source else set(pairs))
    test = set(rng.sample(groups, round(SHARE * len(groups))))
    splits: Splits = {"train": [], "test": []}
    for pair in pairs:
        splits["test" if (pair[0] if by_source else pair) in test else "train"].append(pair)
    return splits


def random_batches(pairs: list[Pair], generator: torch.Generator) -> list[Batch]:
    """Return batches of at most `BATCH_TOKENS` tokens a side, padding included, filled in random order."""
    rows = torch.randperm(len(pairs), generator=generator).tolist()
    return [batch_of(pairs, group) for group in fill_batches(pairs, rows, BATCH_TOKENS)]


def padding(batches: list[Batch]) -> dict[str, float]:
    """Return the number of batches and the share of their ids that is padding, on both sides together."""
    sizes = [side.numel() for batch in batches for side in (batch.src, batch.tgt)]
    empty = [int((side == batch.pad_id).sum()) for batch in batches for side in (batch.src, batch.tgt)]
    return {"batches": len(batches), "padding": sum(empty) / sum(sizes)}


def measure_padding(train: list[SentencePair]) -> list[dict[str, object]]:
    """Return the padding of random batches and of those by length, for each seed."""
    tokenizer = Tokenizer.train([text for pair in train for text in pair], vocab_size=VOCABULARY)
    pairs = [pair for pair in encode_pairs(tokenizer, train) if max(map(len, pair)) <= BATCH_TOKENS]
    rows: list[dict[str, object]] = []
    for seed in SEEDS:
        generator = torch.Generator().manual_seed(seed)
        kinds = {
            "random": random_batches(pairs, generator),
            "by length": make_batches(pairs, batch_tokens=BATCH_TOKENS, generator=generator),
        }
        rows += [{"order": order, "seed": seed} | padding(batches) for order, batches in kinds.items()]
    return rows


def shared_pieces(train: list[SentencePair]) -> dict[str, int]:
    """Count the pieces of the shipped models' vocabulary that each language of `train` uses, and both."""
    tokenizer = Translator.from_pretrained("en-de").tokenizer
    counts = [Counter(chain(*tokenizer.encode_source([pair[side] for pair in train]))) for side in (0, 1)]
    first, second = (set(count) - {EOS_ID} for count in counts)
    both = first & second
    return {
        "vocabulary": tokenizer.vocab_size,
        "source only": len(first - second),
        "target only": len(second - first),
        "both": len(both),
        "source tokens": sum(counts[0][piece] for piece in first),
        "source tokens in both": sum(counts[0][piece] for piece in both),
        "target tokens": sum(counts[1][piece] for piece in second),
        "target tokens in both": sum(counts[1][piece] for piece in both),
    }


def main() -> None:
    """Measure, and write the result."""
    options = begin(data_parser(__doc__))
    corpora = {name: load_corpus(name, folder=options.data) for name in ("multi30k", "tatoeba")}
    published = corpora["multi30k"].splits
    found: dict[str, object] = {
        "multi30k": {
            name: matches(pairs, published["train"]) for name, pairs in published.items() if name != "train"
        }
    }
    pairs = [pair for split in corpora["tatoeba"].splits.values() for pair in split]
    ways: dict[str, Callable[[int], Splits]] = {
        "by pair": lambda seed: split_at_random(pairs, seed, by_source=False),
        "by source": lambda seed: split_at_random(pairs, seed, by_source=True),
        "by family": lambda seed: split_by_sentence(pairs, seed=seed, share=SHARE),
    }
    found["tatoeba"] = [
        {"split": name, "seed": seed} | matches(splits["test"], splits["train"])
        for name, way in ways.items()
        for seed in SEEDS
        for splits in [way(seed)]
    ]
    found["pieces"] = shared_pieces(corpora["tatoeba"].splits["train"])
    found["padding"] = {name: measure_padding(corpus.splits["train"]) for name, corpus in corpora.items()}
    write_result(RESULTS / "batches.json", seed=SEEDS[0], results=found)


if __name__ == "__main__":
    main()
