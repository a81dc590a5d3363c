"""The checks of the exercises on translation reject wrong answers."""

import math
import random
from collections import Counter

from annotated_transformer.book.chapters.translation.exercises import (
    check_bleu,
    check_chrf,
    check_one_word,
    check_statements,
    check_wins,
)


def grams(text, n):
    words = text.split()
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


def bleu(hypotheses, references, *, clip=True, brevity=True, orders=4, skip=False, negative=False):
    logs = 0.0
    for n in range(1, orders + 1):
        hits = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            ours, theirs = grams(hypothesis, n), grams(reference, n)
            hits += sum((ours & theirs).values()) if clip else sum(ours[g] for g in ours if g in theirs)
            total += len(hypothesis.split()) - n + 1 if negative else sum(ours.values())
        if hits == 0 and skip:
            continue
        if hits == 0:
            return 0.0
        logs += math.log(hits / total) / orders
    ours, theirs = (sum(len(text.split()) for text in texts) for texts in (hypotheses, references))
    return 100 * math.exp(logs + (min(0, 1 - theirs / ours) if brevity else 0))


def rewarded(hypotheses, references):
    """Multiply by the formula of the brevity penalty for longer hypotheses, too."""
    ours, theirs = (sum(len(text.split()) for text in texts) for texts in (hypotheses, references))
    return bleu(hypotheses, references, brevity=False) * math.exp(1 - theirs / ours)


def mean_bleu(hypotheses, references):
    pairs = list(zip(hypotheses, references, strict=True))
    return sum(bleu([h], [r]) for h, r in pairs) / len(pairs)


def chrf(hypothesis, reference, *, beta=2, spaces=False, swapped=False):
    ours, theirs = (text if spaces else text.replace(" ", "") for text in (hypothesis, reference))
    precisions, recalls = [], []
    for n in range(1, 7):
        a, b = (Counter(text[at : at + n] for at in range(len(text) - n + 1)) for text in (ours, theirs))
        if a and b:
            hits = sum((a & b).values())
            precisions.append(hits / sum(a.values()))
            recalls.append(hits / sum(b.values()))
    p, r = (sum(values) / len(values) for values in (precisions, recalls))
    p, r = (r, p) if swapped else (p, r)
    return 100 * (1 + beta**2) * p * r / (beta**2 * p + r) if p + r else 0.0


def one_word(tokens, place, *, inside=False):
    share = 1.0
    for n in range(1, 5):
        windows = tokens - n + 1
        hit = min(place, windows - 1) - max(0, place - n + 1) + 1
        share *= (windows - (n if inside else hit)) / windows
    return 100 * max(share, 0) ** 0.25


def wins(first, second, references, picks, bleu, *, paired=True, at_least=False):
    rng, better = random.Random(1), 0
    for pick in picks:
        other = pick if paired else [rng.randrange(len(references)) for _ in pick]
        ours = bleu([first[at] for at in pick], [references[at] for at in pick])
        theirs = bleu([second[at] for at in other], [references[at] for at in other])
        better += theirs >= ours if at_least else theirs > ours
    return better / len(picks)


def bleu_by_lists(hypotheses, references):
    product, lengths = 1.0, [0, 0]
    for n in (1, 2, 3, 4):
        hits = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            texts = [text.split(" ") for text in (hypothesis, reference)]
            ours, left = ([tuple(words[i : i + n]) for i in range(len(words) - n + 1)] for words in texts)
            total += len(ours)
            lengths = [old + len(words) * (n == 1) for old, words in zip(lengths, texts, strict=True)]
            for gram in ours:
                if gram in left:
                    left.remove(gram)
                    hits += 1
        product *= hits / total if total else 0.0
    return 100 * product**0.25 * min(1.0, math.exp(1 - lengths[1] / lengths[0]))


def letters_of(text):
    letters = "".join(text.split())
    return [Counter(letters[i : i + n] for i in range(len(letters) - n + 1)) for n in range(1, 7)]


def chrf_by_means(hypothesis, reference):
    both = [(a, b) for a, b in zip(letters_of(hypothesis), letters_of(reference), strict=True) if a and b]
    p = sum((a & b).total() / a.total() for a, b in both) / len(both)
    r = sum((a & b).total() / b.total() for a, b in both) / len(both)
    return 500 * p * r / (4 * p + r) if p * r else 0


def one_word_by_sets(tokens, place):
    shares = []
    for n in range(1, 5):
        windows = [range(start, start + n) for start in range(tokens - n + 1)]
        shares.append(sum(place not in window for window in windows) / len(windows))
    return 100 * math.prod(shares) ** 0.25


def wins_one_system_after_the_other(first, second, references, picks, bleu):
    def scores(texts):
        return [bleu([texts[i] for i in pick], [references[i] for i in pick]) for pick in picks]

    pairs = list(zip(scores(first), scores(second), strict=True))
    return sum(theirs > ours for ours, theirs in pairs) / len(pairs)


RIGHT = {
    check_statements: [[True, False, False, False], ((1, 0, 0, 0),)],
    check_bleu: [bleu, bleu_by_lists],
    check_chrf: [chrf, chrf_by_means],
    check_one_word: [one_word, one_word_by_sets],
    check_wins: [wins, wins_one_system_after_the_other],
}
WRONG = {
    check_statements: [
        ("how many of the four precisions change, and does the", [True, True, False, False]),
        ("which side does the brevity penalty look at, and which", [True, False, True, False]),
    ],
    check_bleu: [
        ("matches are not clipped to how often a word occurs in the", lambda h, r: bleu(h, r, clip=False)),
        ("the brevity penalty is missing", lambda h, r: bleu(h, r, brevity=False)),
        ("the formula of the brevity penalty rewards longer", rewarded),
        ("lengths of n-grams without a match are left out", lambda h, r: bleu(h, r, skip=True)),
        ("a hypothesis of fewer than n tokens adds a negative", lambda h, r: bleu(h, r, negative=True)),
        ("BLEU is averaged over sentences", mean_bleu),
        ("only words and pairs of words are counted", lambda h, r: bleu(h, r, orders=2)),
    ],
    check_chrf: [
        ("β² is at the recall instead of the precision, in the", lambda h, r: chrf(h, r, swapped=True)),
        ("spaces are counted", lambda h, r: chrf(h, r, spaces=True)),
        ("precision and recall have the same weight", lambda h, r: chrf(h, r, beta=1)),
    ],
    check_one_word: [
        ("the token is taken to be in n windows, as one far from", lambda t, p: one_word(t, p, inside=True)),
        ("the token is taken to be in one window, as one at the", lambda t, p: one_word(t, 0)),
    ],
    check_wins: [
        ("both systems should be scored on the same draws", lambda *a: wins(*a, paired=False)),
        ("a tie counts as a win", lambda *a: wins(*a, at_least=True)),
        ("the share of the second system is subtracted from 1", lambda f, s, *a: 1 - wins(f, s, *a)),
    ],
}
