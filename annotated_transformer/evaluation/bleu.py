"""BLEU by two protocols, whose values are not comparable: the chapter on translation."""

import re
from dataclasses import dataclass
from importlib.metadata import version
from unicodedata import is_normalized

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

from annotated_transformer.calls import warn
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.text.moses import moses_lowercase
from annotated_transformer.text.words import count_words

# Codes of the languages that need another tokenizer than 13a. sacreBLEU itself has the first three.
LANGUAGES = {
    "zh": "zh zho chi cmn cn zt yue wuu lzh nan hak gan hsn cdo cjy cpx czh czo mnp cnp csp",
    "ja-mecab": "ja jpn jp",
    "ko-mecab": "ko kor",
    "char": "th tha nod tts lo lao km khm my mya bur shn mnw bo bod tib dz dzo",
}
PACKAGES = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}  # the others need sentencepiece


@dataclass(frozen=True)
class BleuScore:
    """The BLEU of a corpus.

    Attributes:
        bleu: From 0 to 100.
        signature: How it was computed; compare only values with the same signature.
    """

    bleu: float
    signature: str


@refuses_other_kinds
def sacrebleu(
    hypotheses: list[str],
    *references: list[str],
    tokenizer: str,
) -> BleuScore:
    """Return the BLEU of plain, cased text, split by one of sacreBLEU's tokenizers.

    Report this value: the tokenization does not depend on the system. `tokenizer_for`
    returns the tokenizer of a language. Each hypothesis may have several references.

    Raises:
        ValueError: If there are no hypotheses, if the number of references differs, or
            if sacreBLEU has no such tokenizer or needs missing packages for it.
    """
    check_lines(hypotheses, *references)
    warn_of_other_forms(hypotheses, *references)
    metric = bleu_metric(tokenizer)
    score = metric.corpus_score(hypotheses, references)
    warn_if_whole(tokenizer, score.ref_len, references[0])
    return BleuScore(score.score, str(metric.get_signature()))


@refuses_other_kinds
def sacrebleu_13a(hypotheses: list[str], references: list[str]) -> BleuScore:
    """Return `sacrebleu` with the tokenizer of WMT, which splits at spaces and punctuation."""
    return sacrebleu(hypotheses, references, tokenizer="13a")


@refuses_other_kinds
def tokenizer_for(language: str) -> str:
    """Return the tokenizer that `sacrebleu` needs for a language, such as `"zh"`, `"zh-CN"`, or `"zho_Hans"`.

    It is the one that sacreBLEU takes for the language, or `char`, which makes each character a token, for
    others that are written without spaces between words. If the code is not known, it is `13a`.
    """
    code = re.split("[-_]", language.lower())[0]
    return next((name for name, codes in LANGUAGES.items() if code in codes.split()), "13a")


def bleu_metric(tokenizer: str) -> BLEU:
    """Return sacreBLEU's metric with one of its tokenizers."""
    if tokenizer not in BLEU.TOKENIZERS:
        raise ValueError(
            f"there is no tokenizer {tokenizer!r} for BLEU; choose from {', '.join(sorted(BLEU.TOKENIZERS))}"
        )
    try:
        return BLEU(tokenize=tokenizer)
    except (RuntimeError, ImportError) as error:
        package = PACKAGES.get(tokenizer, "sentencepiece")
        raise ValueError(
            f"the tokenizer {tokenizer} needs packages that are not installed; run pip install '{package}', "
            f"or give another tokenizer, such as char"
        ) from error
    except OSError as error:
        offline = ", ".join(sorted(BLEU.TOKENIZERS - SPM_MODELS.keys()))
        raise ValueError(
            f"sacreBLEU cannot download {SPM_MODELS[tokenizer]['url']} for the tokenizer {tokenizer} "
            f"({getattr(error, 'reason', error)}); connect to the network once, or give a tokenizer that "
            f"needs none: {offline}"
        ) from error


@refuses_other_kinds
def multi30k_bleu(hypotheses: list[str], references: list[str], language: str = "de") -> BleuScore:
    """Return the BLEU of plain text, computed as in the published results on Multi30K.

    Both sides go through `moses_lowercase`; the value is that of multi-bleu.perl.
    """
    check_lines(hypotheses, references)
    warn_of_other_forms(hypotheses, references)
    prepared = [moses_lowercase(text, language) for text in hypotheses]
    return multi30k_bleu_of_prepared(prepared, references, language)


def multi30k_bleu_of_prepared(
    hypotheses: list[str], references: list[str], language: str = "de"
) -> BleuScore:
    """Return `multi30k_bleu` for hypotheses that are already processed; the references are plain.

    A model that was trained on text from `moses_lowercase` generates such hypotheses.
    """
    check_lines(hypotheses, references)
    prepared = [moses_lowercase(text, language) for text in references]
    metric = BLEU(tokenize="none", smooth_method="none", force=True)  # they are tokenized already
    signature = (
        f"lowercased, punctuation-normalized, Moses-tokenized ({language}, not escaped) by "
        f"sacremoses {version('sacremoses')}; one reference, no smoothing, as "
        f"multi-bleu.perl, by sacrebleu {version('sacrebleu')}"
    )
    score = metric.corpus_score(hypotheses, [prepared])
    warn_if_whole("Moses", score.ref_len, references)
    return BleuScore(score.score, signature)


def check_lines(hypotheses: list[str], *references: list[str]) -> None:
    """Refuse lists of different lengths, and empty ones."""
    if not references:
        raise ValueError("there are no references; give at least one list of them")
    for one in references:
        if len(hypotheses) != len(one):
            raise ValueError(
                f"{len(hypotheses)} hypotheses but {len(one)} references; give one "
                f"reference for each hypothesis"
            )
    if not hypotheses:
        raise ValueError("there are no hypotheses; give at least one, with its reference")


def warn_of_other_forms(hypotheses: list[str], *references: list[str]) -> None:
    """Warn if one side is in another Unicode form: the metrics compare the characters as they are."""
    ours, *theirs = (
        sum(not is_normalized("NFC", text) for text in texts) for texts in (hypotheses, *references)
    )
    for number in theirs:
        if 2 * min(ours, number) < max(ours, number):  # once for all metrics, whose values are sacreBLEU's
            warn(
                f"{ours} of {len(hypotheses)} hypotheses and {number} of the references are not in Unicode's "
                f"composed form: equal words count as different; compare again after "
                f'unicodedata.normalize("NFC", text) of both'
            )


def warn_if_whole(tokenizer: str, tokens: int, references: list[str]) -> None:
    """Warn if the tokenizer left most sentences whole, so that BLEU is 0 or depends on a few words."""
    words = sum(map(count_words, references))
    if 0 < 2 * tokens <= words:
        warn(
            f"split by {tokenizer}, the references have only {tokens} tokens for about {words} words; for a "
            f"language without spaces between words, compute chrF, or sacreBLEU with the tokenizer zh "
            f"(Chinese), ja-mecab (Japanese), or char"
        )
