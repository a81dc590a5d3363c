"""A corpus cut in three so that nothing a model is tested on was seen in training."""

import hashlib
import re

from annotated_transformer.text.cleaning import SentencePair

Splits = dict[str, list[SentencePair]]


def split_by_sentence(pairs: list[SentencePair], *, seed: int = 0, share: float = 0.01) -> Splits:
    """Return the splits train, val and test, shuffled; no two have a sentence in common.

    A sentence, of either language, is the same whatever its case and punctuation. Pairs
    that share one stay together, as do those that share one with them, and so on: a family.
    About `share` of the families go to val and as many to test. A digest of the seed and
    the sentences decides, so all is the same on every machine, in every order of `pairs`.

    Raises:
        ValueError: where so few families leave a split empty.
    """
    splits: Splits = {"train": [], "val": [], "test": []}
    families = _families(pairs)
    for pair, family in zip(pairs, families, strict=True):
        draw = _draw(f"{seed} {family}")
        name = "test" if draw < share else "val" if draw < 2 * share else "train"
        splits[name].append(pair)
    for name, split in splits.items():
        if not split:
            raise ValueError(
                f"{len(pairs)} pairs that fall into {len(set(families))} families leave "
                f"the split {name} empty at share={share}; give more or a larger share"
            )
        split.sort(key=lambda pair: _draw(f"{seed} {pair}"))
    return splits


def _families(pairs: list[SentencePair]) -> list[str]:
    """Return for each pair its family's first sentence in the order of the alphabet."""
    parent: dict[str, str] = {}

    def first(sentence: str) -> str:
        while parent.setdefault(sentence, sentence) != sentence:
            parent[sentence] = parent[parent[sentence]]  # a shorter way for the next search
            sentence = parent[sentence]
        return sentence

    nodes = [(f"1 {_words(source)}", f"2 {_words(target)}") for source, target in pairs]
    for node in nodes:
        smaller, larger = sorted(map(first, node))
        parent[larger] = smaller
    return [first(source) for source, _ in nodes]


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold())) or text


def _draw(text: str) -> float:
    """Return a number from 0 to 1 that looks random and is always the same for `text`."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7]) / 2**56
