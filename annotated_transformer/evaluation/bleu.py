"""BLEU by two protocols, whose figures cannot be compared: the chapter on translation."""

from dataclasses import dataclass
from importlib.metadata import version

from sacrebleu.metrics.bleu import BLEU

from annotated_transformer.text.moses import moses_lowercase


@dataclass(frozen=True)
class BleuScore:
    """A score and how it came about.

    Attributes:
        bleu: Of the whole corpus, from 0 to 100.
        signature: What must be the same where two scores are compared.
    """

    bleu: float
    signature: str


def sacrebleu_13a(hypotheses: list[str], references: list[str]) -> BleuScore:
    """Return the BLEU of plain text, its case kept, in the tokens of the WMT evaluations.

    This is the one to report: whatever the system's tokens are, these are the scorer's.

    Raises:
        ValueError: If there are no lines, or not as many references as hypotheses.
    """
    check_lines(hypotheses, references)
    metric = BLEU(tokenize="13a")
    bleu = metric.corpus_score(hypotheses, [references]).score
    return BleuScore(bleu, str(metric.get_signature()))


def multi30k_bleu(hypotheses: list[str], references: list[str], language: str = "de") -> BleuScore:
    """Return the BLEU of plain text as the published figures of Multi30K have it.

    Both sides go through `moses_lowercase`; the value is that of multi-bleu.perl.

    Raises:
        ValueError: If there are no lines, or not as many references as hypotheses.
    """
    prepared = [moses_lowercase(text, language) for text in hypotheses]
    return multi30k_bleu_of_prepared(prepared, references, language)


def multi30k_bleu_of_prepared(
    hypotheses: list[str], references: list[str], language: str = "de"
) -> BleuScore:
    """Return the same, of hypotheses that are prepared already; the references are plain.

    A model says such hypotheses that has learned from text which `moses_lowercase` prepared.

    Raises:
        ValueError: If there are no lines, or not as many references as hypotheses.
    """
    check_lines(hypotheses, references)
    prepared = [moses_lowercase(text, language) for text in references]
    metric = BLEU(tokenize="none", smooth_method="none", force=True)  # tokens on purpose
    signature = (
        f"lowercased, punctuation-normalised, Moses-tokenised ({language}, not escaped) by "
        f"sacremoses {version('sacremoses')}; one reference, no smoothing, as "
        f"multi-bleu.perl, by sacrebleu {version('sacrebleu')}"
    )
    return BleuScore(metric.corpus_score(hypotheses, [prepared]).score, signature)


def check_lines(hypotheses: list[str], references: list[str]) -> None:
    """Refuse texts that do not stand side by side.

    Raises:
        ValueError: If there are no lines, or not as many references as hypotheses.
    """
    if len(hypotheses) != len(references):
        raise ValueError(
            f"{len(hypotheses)} hypotheses but {len(references)} references; give each "
            f"hypothesis its reference"
        )
    if not hypotheses:
        raise ValueError("nothing to score; give a hypothesis and its reference, or more")
