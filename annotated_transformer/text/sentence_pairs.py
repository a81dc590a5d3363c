"""Pairs of a sentence and its translation, and which are usable: the chapter on tokens."""

SentencePair = tuple[str, str]


def filter_reason(pair: SentencePair) -> str | None:
    """Return the reason why the pair cannot be a translation, or None.

    A pair is "empty" if one side has no words. It is "mismatched" if the longer side has more words
    than three times those of the shorter side plus three: at most 6 words for one, and 33 for ten.
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
