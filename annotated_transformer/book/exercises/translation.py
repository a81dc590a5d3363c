"""Checks of the exercises of the chapter on translation (BLEU, section 6.1 of the paper)."""

import random
from collections.abc import Callable, Sequence

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from annotated_transformer.book.exercises.verdict import expect, judge

Bleu = Callable[[list[str], list[str]], float]
WORDS = "der die das Hund Katze Mann sieht kennt heute nicht .".split()
TRUE_OF_BLEU = {
    "(a)": "does swapping two sentences of the test set change a count?",
    "(b)": "how many of the four precisions change, and does the brevity penalty?",
    "(c)": "which side does the brevity penalty look at, and which side is in the denominator?",
    "(d)": "what is the mean of the BLEU of single sentences, compared with the sums of their counts?",
}


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


def _expect_sacrebleus(found: float, wanted: float, metric: str, name: str) -> None:
    expect(
        abs(found - wanted) < 1e-6,
        f"for {name}, your {metric} is {found:.4f}, and sacreBLEU's is {wanted:.4f}.",
    )


@judge
def check_statements(answer: Sequence[bool] | None) -> str:
    """Judge which statements on BLEU are predicted to hold, exercise ex-predict-bleu."""
    expect(answer is not None, "your answer is still empty; put four times True or False in its place.")
    given = [bool(entry) for entry in answer or ()]
    expect(len(given) == len(TRUE_OF_BLEU), "give four answers, one for each statement.")
    hypotheses, references = draw_texts(0)
    bleu = corpus_bleu(hypotheses, references)
    turned = corpus_bleu(hypotheses[::-1], references[::-1])
    longer = corpus_bleu([f"{text} Unsinn" for text in references], references)
    single = [BLEU(effective_order=True, tokenize="none", force=True).sentence_score(h, [r]).score
              for h, r in zip(hypotheses, references, strict=True)]  # fmt: skip
    holds = [
        abs(turned - bleu) < 1e-9,
        abs(longer - 100) < 1e-9,
        abs(corpus_bleu(references, hypotheses) - bleu) < 1e-9,
        abs(sum(single) / len(single) - bleu) < 1e-9,
    ]
    for guess, truth, (name, hint) in zip(given, holds, TRUE_OF_BLEU.items(), strict=True):
        expect(guess == truth, f"your prediction for {name} is wrong: {hint}")
    return "30 drawn sentences agree with all four predictions."


@judge
def check_bleu(answer: Bleu) -> str:
    """Judge `answer(hypotheses, references)`, exercise ex-bleu, by sacreBLEU."""
    cases = {f"30 drawn sentences, seed {seed}": draw_texts(seed) for seed in range(3)}
    cases["a hypothesis that repeats a word"] = (["der der der Hund sieht die Katze ."],
                                                 ["der Hund sieht die Katze heute ."])  # fmt: skip
    cases["a hypothesis that is too long"] = (["der Hund sieht die Katze heute nicht ."],
                                              ["der Hund sieht die Katze ."])  # fmt: skip
    cases["no common 4-gram"] = ["der Hund sieht die Katze"], ["der Hund kennt die Katze"]
    cases["a hypothesis of two words beside a longer one"] = (
        ["der Hund", "die Katze sieht den Mann ."], ["der Hund", "die Katze sieht den Hund ."])  # fmt: skip
    for name, (hypotheses, references) in cases.items():
        found = float(answer(hypotheses, references))
        _expect_sacrebleus(found, corpus_bleu(hypotheses, references), "BLEU", name)
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
        _expect_sacrebleus(float(answer(hypothesis, reference)), wanted, "chrF", name)
    return "it agrees with sacreBLEU for five pairs."


@judge
def check_one_word(answer: Callable[[int, int], float]) -> str:
    """Judge `answer(tokens, place)`, exercise ex-one-word, by scoring such sentences."""
    for tokens, place in ((8, 0), (8, 4), (8, 7), (12, 1), (12, 2), (20, 10), (9, 8), (5, 0), (7, 3)):
        reference = [f"w{number}" for number in range(tokens)]
        hypothesis = [*reference[:place], "x", *reference[place + 1 :]]
        wanted = corpus_bleu([" ".join(hypothesis)], [" ".join(reference)])
        name = f"{tokens} tokens with a wrong one at place {place}"
        _expect_sacrebleus(float(answer(tokens, place)), wanted, "BLEU", name)
    return "it agrees with sacreBLEU for nine such sentences."


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
        better = 0
        for pick in picks:
            drawn = [[texts[at] for at in pick] for texts in (first, second, references)]
            better += corpus_bleu(drawn[1], drawn[2]) > corpus_bleu(drawn[0], drawn[2])
        found = float(answer(first, second, references, picks, corpus_bleu))
        expect(
            abs(found - better / len(picks)) < 1e-9,
            f"the second system is better in {better} of {len(picks)} drawn test sets, and your share is "
            f"{found:.4f}.",
        )
    return "it agrees for three pairs of systems."
