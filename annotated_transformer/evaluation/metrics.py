"""Metrics besides BLEU: chrF, which compares characters, and TER, the rate of edits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from annotated_transformer.evaluation.bleu import (
    check_lines,
    tokenizer_for,
    warn_if_whole,
    warn_of_other_forms,
)
from annotated_transformer.kinds import refuses_other_kinds


@dataclass(frozen=True)
class Score:
    """The value of a metric on a corpus.

    Attributes:
        name: What sacreBLEU calls the metric, such as `"chrF2"`.
        value: A percentage. TER can be above 100, and less is better.
        signature: How it was computed; compare only values with the same signature.
    """

    name: str
    value: float
    signature: str


Measure = Callable[..., Score]
"""Returns the score of hypotheses, given one or several lists of references."""


@refuses_other_kinds
def chrf(hypotheses: list[str], *references: list[str], word_order: int = 0) -> Score:
    """Return chrF, the F-score of character n-grams, n up to 6; recall counts twice as much as precision.

    It needs no tokenizer, so it suits languages without spaces between words. With a `word_order` of 2, it
    is chrF++, which also compares words and pairs of words. Several lists of references give each
    hypothesis several, of which the best one counts.
    """
    check_lines(hypotheses, *references)
    warn_of_other_forms(hypotheses, *references)
    metric = CHRF(word_order=word_order)
    score = metric.corpus_score(hypotheses, references)
    return Score(score.name, score.score, str(metric.get_signature()))


@refuses_other_kinds
def ter(hypotheses: list[str], *references: list[str], language: str) -> Score:
    """Return TER: the edits that turn a hypothesis into its reference, per 100 words of the reference.

    An edit inserts, deletes or replaces a word, or moves a sequence of words. Case is ignored. Words are what
    stands between spaces; in Chinese and Japanese, they are single characters.
    """
    check_lines(hypotheses, *references)
    warn_of_other_forms(hypotheses, *references)
    characters = tokenizer_for(language) in ("zh", "ja-mecab")
    metric = TER(normalized=characters, asian_support=characters)
    score = metric.corpus_score(hypotheses, references)
    if not characters:
        warn_if_whole("spaces", sum(len(text.split()) for text in references[0]), references[0])
    return Score(score.name, score.score, str(metric.get_signature()))


# The metrics of `evaluate` besides BLEU, given the target language; `MetricOptions` names them.
METRICS: dict[str, Callable[[str], Measure]] = {
    "chrf": lambda language: chrf,
    "chrf++": lambda language: partial(chrf, word_order=2),
    "ter": lambda language: partial(ter, language=language),
}
