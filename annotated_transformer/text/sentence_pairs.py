"""Pairs of a sentence and its translation: which are usable (the chapter on tokens), and in which split.

Splits do not overlap: the model is tested on sentences that it was not trained on.
"""

import hashlib
import re

SentencePair = tuple[str, str]
Splits = dict[str, list[SentencePair]]


def filter_reason(pair: SentencePair) -> str | None:
    """Return the reason why the pair cannot be a translation, or None.

    A pair is "empty" if one side has no words. It is "mismatched" if the longer
    side has more words than three times those of the shorter side plus three: at
    most 6 words for one, and 33 for ten.
    """
    shorter, longer = sorted(len(text.split()) for text in pair)
    if shorter == 0:
        return "empty"
    return "mismatched" if longer > 3 * shorter + 3 else None


def keep_usable(pairs: list[SentencePair]) -> tuple[list[SentencePair], dict[str, int]]:
    """Return the pairs to train on, and the number of pairs left out by reason."""
    reasons = [filter_reason(pair) for pair in pairs]
    usable = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
    return usable, {reason: reasons.count(reason) for reason in ("empty", "mismatched")}


def split_by_sentence(pairs: list[SentencePair], *, seed: int = 0, share: float = 0.01) -> Splits:
    """Return the splits train, val and test, shuffled; no two have a sentence in common.

    Two sentences are the same if they differ only in case and punctuation. Pairs that have a
    sentence in common, directly or through other pairs, form a family, which stays in one split.
    About `share` of the families go to val and as many to test. The choice depends on a digest of the
    seed and the sentences, so it is the same on every machine and for every order of `pairs`.

    Raises:
        ValueError: If a split is empty because there are too few families.
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
    """Return the first sentence, in alphabetical order, of the family of each pair."""
    parent: dict[str, str] = {}

    def first(sentence: str) -> str:
        while parent.setdefault(sentence, sentence) != sentence:
            parent[sentence] = parent[parent[sentence]]  # path compression
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
    """Return a pseudorandom number from 0 to 1 that depends on `text` only."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7]) / 2**56
