"""Checks of the exercises of the chapter on translation (BLEU, section 6.1 of the paper)."""

import math
import operator
import random
from collections import Counter
from collections.abc import Callable

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import expect, expect_number, judge, plural

Bleu = Callable[[list[str], list[str]], float]
WORDS = "der die das Hund Katze Mann sieht kennt heute nicht .".split()


def draw_texts(seed: int, count: int = 30) -> tuple[list[str], list[str]]:
    """Return hypotheses and references of tokens joined by spaces; some words differ, and some lengths."""
    rng = random.Random(seed)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(5, 12))) for _ in range(count)]
    hypotheses = []
    for text in references:
        words = [rng.choice(WORDS) if rng.random() < 0.15 else word for word in text.split()]
        hypotheses.append(" ".join(words[: len(words) - rng.choice((0, 0, 1, 2))]))
    return hypotheses, references


def corpus_bleu(hypotheses: list[str], references: list[str]) -> float:
    """Return sacreBLEU's value for texts that are tokenized already, without smoothing."""
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    return metric.corpus_score(hypotheses, [references]).score


def _grams(text: str, n: int) -> Counter[tuple[str, ...]]:
    words = text.split()
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


def _bleu(
    hypotheses: list[str],
    references: list[str],
    *,
    clip: bool = True,
    brevity: str = "short",
    orders: int = 4,
    skip: bool = False,
    negative: bool = False,
) -> float:
    """Return BLEU with a mistake: what people change, forget or misread."""
    logs, used = 0.0, 0
    for n in range(1, orders + 1):
        hits = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            ours, theirs = _grams(hypothesis, n), _grams(reference, n)
            hits += sum((ours & theirs).values()) if clip else sum(ours[g] for g in ours if g in theirs)
            total += len(hypothesis.split()) - n + 1 if negative else sum(ours.values())
        if hits and total > 0:
            logs, used = logs + math.log(hits / total), used + 1
        elif not skip:
            return 0.0
    ours_length, theirs_length = (
        sum(len(text.split()) for text in texts) for texts in (hypotheses, references)
    )
    penalty = 1 - theirs_length / ours_length
    penalty = {"none": 0.0, "short": min(0.0, penalty), "always": penalty}[brevity]
    return 100 * math.exp(logs / orders + penalty)


def _mistaken_bleu(hypotheses: list[str], references: list[str]) -> dict[str, float]:
    both = hypotheses, references
    alone = [_bleu([h], [r]) for h, r in zip(hypotheses, references, strict=True)]
    return {
        "matches are not clipped to how often a word occurs in the reference": _bleu(*both, clip=False),
        "the brevity penalty is missing": _bleu(*both, brevity="none"),
        "the formula of the brevity penalty rewards longer hypotheses": _bleu(*both, brevity="always"),
        "lengths of n-grams without a match are left out": _bleu(*both, skip=True),
        "a hypothesis of fewer than n tokens adds a negative number to the total": _bleu(
            *both, negative=True
        ),
        "BLEU is averaged over sentences; their counts should be added": sum(alone) / len(alone),
        "only words are counted": _bleu(*both, orders=1),
        "only words and pairs of words are counted": _bleu(*both, orders=2),
        "n-grams of up to three words are counted; there should be four": _bleu(*both, orders=3),
        "hypotheses and references are swapped": _bleu(references, hypotheses),
        "BLEU is not multiplied by 100": _bleu(*both) / 100,
    }


def _chrf(hypothesis: str, reference: str, beta: float | int, *, spaces: bool = False) -> float:
    """Return chrF with another β, or with the spaces counted."""
    ours, theirs = (text if spaces else text.replace(" ", "") for text in (hypothesis, reference))
    precisions, recalls = [], []
    for n in range(1, 7):
        a, b = (Counter(text[at : at + n] for at in range(len(text) - n + 1)) for text in (ours, theirs))
        if a and b:
            hits = sum((a & b).values())
            precisions.append(hits / sum(a.values()))
            recalls.append(hits / sum(b.values()))
    p, r = (sum(values) / max(1, len(values)) for values in (precisions, recalls))
    return 100 * (1 + beta**2) * p * r / (beta**2 * p + r) if p + r else 0.0


@predictions(
    put="four times True or False",
    shows="counts are added up over all sentences, so their order does not matter, but sides and lengths do.",
)
def check_statements() -> Answers:
    """Judge which statements on BLEU are predicted to hold, exercise ex-predict-bleu, by drawn sentences."""
    hypotheses, references = draw_texts(0)
    bleu = corpus_bleu(hypotheses, references)
    turned = corpus_bleu(hypotheses[::-1], references[::-1])
    longer = corpus_bleu([f"{text} Unsinn" for text in references], references)
    single = [BLEU(effective_order=True, tokenize="none", force=True).sentence_score(h, [r]).score
              for h, r in zip(hypotheses, references, strict=True)]  # fmt: skip

    def equal(one: float, other: float, clue: str) -> Answer:
        return Answer(abs(one - other) < 1e-9, clue)

    return {
        "(a)": equal(turned, bleu, "Does swapping two sentences of the test set change a count?"),
        "(b)": equal(longer, 100.0, "How many of the four precisions change, and does the brevity penalty?"),
        "(c)": equal(corpus_bleu(references, hypotheses), bleu,
            "Which side does the brevity penalty look at, and which side is in the denominator?"),
        "(d)": equal(sum(single) / len(single), bleu,
            "What is the mean of the BLEU of single sentences, compared with the sums of their counts?"),
    }  # fmt: skip


@judge
def check_bleu(answer: Bleu) -> str:
    """Judge `answer(hypotheses, references)`, exercise ex-bleu, by sacreBLEU."""
    cases = {f"the sentences of checks.draw_texts({seed})": draw_texts(seed) for seed in range(3)}
    cases["a hypothesis that repeats a word"] = (["der der der Hund sieht die Katze ."],
                                                 ["der Hund sieht die Katze heute ."])  # fmt: skip
    cases["a hypothesis that is too long"] = (["der Hund sieht die Katze heute nicht ."],
                                              ["der Hund sieht die Katze ."])  # fmt: skip
    cases["no common 4-gram"] = ["der Hund sieht die Katze"], ["der Hund kennt die Katze"]
    cases["a hypothesis of two words beside a longer one"] = (
        ["der Hund", "die Katze sieht den Mann ."], ["der Hund", "die Katze sieht den Hund ."])  # fmt: skip
    expect_without(answer, PACKAGE, "sacrebleu")
    for name, (hypotheses, references) in cases.items():
        found, wanted = answer(list(hypotheses), list(references)), corpus_bleu(hypotheses, references)
        mistakes = _mistaken_bleu(hypotheses, references)
        expect_number(found, wanted, what=f"BLEU for {name}", tolerance=1e-6, mistakes=mistakes)
    return "it agrees with sacreBLEU for seven corpora."


@judge
def check_chrf(answer: Callable[[str, str], float]) -> str:
    """Judge `answer(hypothesis, reference)`, exercise ex-debug-chrf, by sacreBLEU."""
    pairs = {
        "a short hypothesis": ("Der Hund sieht", "Der Hund sieht die Katze."),
        "a long hypothesis": ("Der Hund sieht die Katze und den Mann.", "Der Hund sieht die Katze."),
        "another word": ("Der Hund kennt die Katze.", "Der Hund sieht die Katze."),
        "the reference itself": ("Der Hund sieht.", "Der Hund sieht."),
        "nothing in common": ("Der Mann weint heute.", "xy zq"),
    }
    for name, (hypothesis, reference) in pairs.items():
        wanted = CHRF().corpus_score([hypothesis], [[reference]]).score
        mistakes = {
            "β² is at the recall instead of the precision, in the denominator": _chrf(
                hypothesis, reference, 0.5
            ),
            "spaces are counted": _chrf(hypothesis, reference, 2, spaces=True),
            "neither bug is repaired": _chrf(hypothesis, reference, 0.5, spaces=True),
            "precision and recall have the same weight": _chrf(hypothesis, reference, 1),
        }
        result = answer(hypothesis, reference)
        what = f"chrF for {name}, {hypothesis!r} and {reference!r},"
        expect_number(result, wanted, what=what, tolerance=1e-6, mistakes=mistakes)
    return "it agrees with sacreBLEU for five pairs."


@formula(
    *((12, 0), (12, 2), (8, 0), (8, 4), (8, 7), (20, 10), (9, 8), (5, 0), (7, 3)),
    shows="a token near an end is in fewer windows, so fewer are spoiled.",
    shown=2,
)
def check_one_word(tokens: int, place: int) -> Answer:
    """Judge `answer(tokens, place)`, exercise ex-one-word, by scoring such sentences."""
    reference = [f"w{number}" for number in range(tokens)]
    hypothesis = [*reference[:place], "x", *reference[place + 1 :]]
    wanted = corpus_bleu([" ".join(hypothesis)], [" ".join(reference)])
    inside, edge = 1.0, 1.0
    for n in range(1, 5):
        inside *= max(0, tokens - n + 1 - n) / (tokens - n + 1)
        edge *= (tokens - n) / (tokens - n + 1)
    mistakes = {
        "the token is taken to be in n windows, as one far from the ends is": 100 * inside**0.25,
        "the token is taken to be in one window, as one at the edge is": 100 * edge**0.25,
        "BLEU is not multiplied by 100": wanted / 100,
        "the fourth root is missing": 100 * (wanted / 100) ** 4,
    }
    return Answer(wanted, "In how many windows of each size is this token?", mistakes, 1e-4)


@judge
def check_wins(answer: Callable[..., float]) -> str:
    """Judge `answer(first, second, references, picks, bleu)`, exercise ex-bootstrap."""
    for seed in range(3):
        first, references = draw_texts(seed, 12)
        rng = random.Random(seed)
        both = zip(first, references, strict=True)
        second = [ours if rng.random() < 0.6 else theirs for ours, theirs in both]
        worse = rng.randrange(12)
        second[worse] = "Unsinn Unsinn"
        picks = [[rng.randrange(12) for _ in range(12)] for _ in range(40)]
        picks[0] = [next(at for at in range(12) if first[at] == second[at])] * 12  # neither is better
        scores = []
        for pick in picks:
            drawn = [[texts[at] for at in pick] for texts in (first, second, references)]
            scores.append([corpus_bleu(texts, drawn[2]) for texts in drawn[:2]])
        asked: list[tuple[str, ...]] = []

        def bleu(hypotheses: list[str], references: list[str], asked: list[tuple[str, ...]] = asked) -> float:
            asked.append(tuple(references))
            return corpus_bleu(hypotheses, references)

        found = answer(first, second, references, picks, bleu)
        won, tied = (sum(compare(*pair) for pair in scores) for compare in (operator.gt, operator.eq))
        mistakes = {
            "a tie counts as a win": 1 - won / len(picks),
            "this is the share of the first system": won / len(picks),
            "the share of the second system is subtracted from 1": (won + tied) / len(picks),
        }
        drawn_sets = {tuple(references[at] for at in pick) for pick in picks}
        expect(
            drawn_sets.issuperset(asked),
            "a test set is scored that is not in `picks`; both systems should be scored on the same draws.",
        )
        what = f"the share for {plural(len(picks), 'drawn test set')}"
        wanted = sum(theirs > ours for ours, theirs in scores) / len(picks)
        expect_number(found, wanted, what=what, mistakes=mistakes)
    return "it agrees for three pairs of systems."
