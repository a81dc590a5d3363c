"""The checks of the exercises on translation reject wrong answers."""

import random

from tests.solutions import Solutions

solved = Solutions("translation")
edited = solved.edited


def mean_bleu(hypotheses, references):
    pairs = list(zip(hypotheses, references, strict=True))
    return sum(solved.bleu([h], [r]) for h, r in pairs) / len(pairs)


def wins_of_other_draws(first, second, references, picks, bleu):
    rng, better = random.Random(1), 0
    for pick in picks:
        other = [rng.randrange(len(references)) for _ in pick]
        ours = bleu([first[at] for at in pick], [references[at] for at in pick])
        better += bleu([second[at] for at in other], [references[at] for at in other]) > ours
    return better / len(picks)


def wins_one_system_after_the_other(first, second, references, picks, bleu):
    def scores(texts):
        return [bleu([texts[i] for i in pick], [references[i] for i in pick]) for pick in picks]

    pairs = list(zip(scores(first), scores(second), strict=True))
    return sum(theirs > ours for ours, theirs in pairs) / len(pairs)


RIGHT = {"wins": [wins_one_system_after_the_other]}
UNCLIPPED = "(a & b).total() for", "sum(a[g] for g in a if g in b) for"
SPOILED = "min(place, windows - 1) - max(0, place - n + 1) + 1"
PRODUCT = "product *= matches / max(1, sum(a.total() for a in ours))"
NEGATIVE = "product *= matches / sum(len(text.split()) - n + 1 for text in hypotheses)"
WRONG = {
    "statements": [
        ("how many of the four precisions change, and does the", [True, True, False, False]),
        ("which side does the brevity penalty look at, and which", [True, False, True, False]),
    ],
    "bleu": [
        ("matches are not clipped to how often a word occurs in the", edited("bleu", *UNCLIPPED)),
        ("the brevity penalty is missing", edited("bleu", "min(1, math.exp(1 - r / c)) * ", "")),
        ("rewards longer", edited("bleu", "min(1, math.exp(1 - r / c))", "math.exp(1 - r / c)")),
        ("n-grams without a match are left out", edited("bleu", PRODUCT, f"if matches: {PRODUCT}")),
        ("a hypothesis of fewer than n tokens adds a negative", edited("bleu", PRODUCT, NEGATIVE)),
        ("BLEU is averaged over sentences", mean_bleu),
        ("only words and pairs of words", edited("bleu", "range(1, 5)", "(1, 2)", "0.25", "0.5")),
    ],
    "chrf": [
        ("β² is at the recall instead of the precision", edited("repaired", "(4 * p + r)", "(p + 4 * r)")),
        ("spaces are counted", edited("repaired", 'text.replace(" ", "")', "text")),
        ("precision and recall have the same weight", edited("repaired", "5 * p", "2 * p", "4 * p", "p")),
    ],
    "one_word": [
        ("the token is taken to be in n windows, as one far", edited("one_word", SPOILED, "min(n, windows)")),
        ("the token is taken to be in one window, as one at the", edited("one_word", SPOILED, "1")),
    ],
    "wins": [
        ("both systems should be scored on the same draws", wins_of_other_draws),
        ("a tie counts as a win", edited("wins", "drawn[2]) >", "drawn[2]) >=")),
        ("the share of the second system is subtracted from 1", lambda *given: 1 - solved.wins(*given)),
    ],
}
