"""BLEU by two protocols, whose values are not comparable: the chapter on translation."""

from dataclasses import dataclass
from importlib.metadata import version

from sacrebleu.metrics.bleu import BLEU

from annotated_transformer.text.moses import moses_lowercase


@dataclass(frozen=True)
class BleuScore:
    """The BLEU of a corpus.

    Attributes:
        bleu: From 0 to 100.
        signature: How it was computed; compare only values with the same signature.
    """

    bleu: float
    signature: str


def sacrebleu_13a(hypotheses: list[str], references: list[str]) -> BleuScore:
    """Return the BLEU of plain, cased text, tokenized as in the WMT evaluations.

    Report this value: the tokenization does not depend on the system.

    Raises:
        ValueError: If there are no hypotheses, or if the number of references differs.
    """
    check_lines(hypotheses, references)
    metric = BLEU(tokenize="13a")
    bleu = metric.corpus_score(hypotheses, [references]).score
    return BleuScore(bleu, str(metric.get_signature()))


def multi30k_bleu(hypotheses: list[str], references: list[str], language: str = "de") -> BleuScore:
    """Return the BLEU of plain text, computed as in the published results on Multi30K.

    Both sides go through `moses_lowercase`; the value is that of multi-bleu.perl.

    Raises:
        ValueError: If there are no hypotheses, or if the number of references differs.
    """
    prepared = [moses_lowercase(text, language) for text in hypotheses]
    return multi30k_bleu_of_prepared(prepared, references, language)


def multi30k_bleu_of_prepared(
    hypotheses: list[str], references: list[str], language: str = "de"
) -> BleuScore:
    """Return `multi30k_bleu` for hypotheses that are already processed; the references are plain.

    A model that was trained on text from `moses_lowercase` generates such hypotheses.

    Raises:
        ValueError: If there are no hypotheses, or if the number of references differs.
    """
    check_lines(hypotheses, references)
    prepared = [moses_lowercase(text, language) for text in references]
    metric = BLEU(tokenize="none", smooth_method="none", force=True)  # they are tokenized already
    signature = (
        f"lowercased, punctuation-normalized, Moses-tokenized ({language}, not escaped) by "
        f"sacremoses {version('sacremoses')}; one reference, no smoothing, as "
        f"multi-bleu.perl, by sacrebleu {version('sacrebleu')}"
    )
    return BleuScore(metric.corpus_score(hypotheses, [prepared]).score, signature)


def check_lines(hypotheses: list[str], references: list[str]) -> None:
    """Refuse lists of different lengths, and empty ones.

    Raises:
        ValueError: If there are no hypotheses, or if the number of references differs.
    """
    if len(hypotheses) != len(references):
        raise ValueError(
            f"{len(hypotheses)} hypotheses but {len(references)} references; give one "
            f"reference for each hypothesis"
        )
    if not hypotheses:
        raise ValueError("there are no hypotheses; give at least one, with its reference")
