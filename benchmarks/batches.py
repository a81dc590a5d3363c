"""How many test sentences are in the training data, what do languages share, and how much is padding?

    python -m benchmarks.batches --data DIR

`DIR` is the folder of Tatoeba. The result has counts only, no sentences. A sentence is in the training data
if one there has the same words, whatever its case and punctuation. The chapter on text and batches shows it.
"""

import random
from itertools import chain
from typing import Any

import torch

from annotated_transformer import Tokenizer, Translator, load_corpus
from annotated_transformer.text import Batch, make_batches
from annotated_transformer.text.batching import batch_of, fill_batches
from annotated_transformer.text.sentence_pairs import SentencePair, Splits, split_by_sentence
from annotated_transformer.text.words import normalized_words
from annotated_transformer.training import encode_pairs
from benchmarks.quality import sides
from benchmarks.record import begin, write_result

SEEDS = (0, 1, 2)
SHARE = 0.01  # of the pairs, or of the groups of pairs, for the test split
BATCH_TOKENS = 4096
VOCABULARY = 8000
WAYS = ("by pair", "by source", "by family")


def split(pairs: list[SentencePair], way: str, seed: int) -> Splits:
    """Return a training and a test split, drawn pair by pair, source by source, or family by family."""
    if way == "by family":
        return split_by_sentence(pairs, seed=seed, share=SHARE)
    keys: list[Any] = [pair[0] if way == "by source" else pair for pair in pairs]
    groups = sorted(set(keys))
    test = set(random.Random(seed).sample(groups, round(SHARE * len(groups))))
    splits: Splits = {"train": [], "test": []}
    for pair, group in zip(pairs, keys, strict=True):
        splits["test" if group in test else "train"].append(pair)
    return splits


def leaks(splits: Splits) -> dict[str, int]:
    """Count the test pairs, and those whose source or target is in the training split."""
    known = [set(map(normalized_words, texts)) for texts in sides(splits["train"])]
    hits = [any(normalized_words(pair[side]) in known[side] for side in (0, 1)) for pair in splits["test"]]
    return {"pairs": len(hits), "normalized either": sum(hits)}


def padding(batches: list[Batch]) -> dict[str, float]:
    """Return the number of batches and the share of their ids that is padding, on both sides together."""
    ids = torch.cat([side.flatten() for batch in batches for side in (batch.src, batch.tgt)])
    return {"batches": len(batches), "padding": float((ids == batches[0].pad_id).double().mean())}


def measure_padding(train: list[SentencePair]) -> list[dict[str, object]]:
    """Return the padding of random batches and of those by length, for each seed."""
    tokenizer = Tokenizer.train([text for pair in train for text in pair], vocab_size=VOCABULARY)
    pairs = [pair for pair in encode_pairs(tokenizer, train) if max(map(len, pair)) <= BATCH_TOKENS]
    rows: list[dict[str, object]] = []
    for seed in SEEDS:
        generator = torch.Generator().manual_seed(seed)
        order = torch.randperm(len(pairs), generator=generator).tolist()
        at_random = [batch_of(pairs, group) for group in fill_batches(pairs, order, BATCH_TOKENS)]
        by_length = make_batches(pairs, batch_tokens=BATCH_TOKENS, generator=generator)
        rows.append({"order": "random", "seed": seed} | padding(at_random))
        rows.append({"order": "by length", "seed": seed} | padding(by_length))
    return rows


def shared_pieces(train: list[SentencePair]) -> dict[str, int]:
    """Count the pieces of the shipped models' vocabulary that each language of `train` uses, and both."""
    tokenizer = Translator.from_pretrained("en-de").tokenizer
    first, second = (set(chain(*tokenizer.encode_source(texts))) for texts in sides(train))
    both = len(first & second) - 1  # without EOS
    return {"source only": len(first - second), "target only": len(second - first), "both": both}


def main() -> None:
    """Measure, and write the result."""
    options = begin(__doc__, "data")
    splits = load_corpus("tatoeba", folder=options.data).splits
    pairs = [pair for part in splits.values() for pair in part]
    results = {
        "tatoeba": [
            {"split": way, "seed": seed} | leaks(split(pairs, way, seed)) for way in WAYS for seed in SEEDS
        ],
        "pieces": shared_pieces(splits["train"]),
        "padding": {"tatoeba": measure_padding(splits["train"])},
    }
    write_result("batches", results, seed=SEEDS[0])


if __name__ == "__main__":
    main()
