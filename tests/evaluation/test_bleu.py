"""BLEU under each protocol, and the score of multi-bleu.perl calculated by hand."""

# ruff: noqa: RUF001 (sentences of several languages)

import math
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from unicodedata import normalize
from unittest.mock import Mock

import pytest
from sacrebleu.metrics.bleu import BLEU

from annotated_transformer.evaluation.bleu import (
    multi30k_bleu,
    multi30k_bleu_of_prepared,
    sacrebleu,
    sacrebleu_13a,
    tokenizer_for,
)
from annotated_transformer.evaluation.metrics import chrf, ter
from annotated_transformer.text.moses import moses_lowercase

REFERENCES = ["Ein Mann läuft heute durch den Park.", "Zwei Hunde spielen im hohen, grünen Gras."]


def test_oracle_multi_bleu_by_hand():
    hypotheses = ["der der mann läuft im park", "zwei kinder spielen"]
    references = ["der mann läuft im park heute", "zwei kleine kinder spielen draußen"]
    # "der" counts once; the second sentence matches only one bigram, "kinder spielen", and nothing longer.
    precisions = [(5 + 3) / (6 + 3), (4 + 1) / (5 + 2), (3 + 0) / (4 + 1), (2 + 0) / (3 + 0)]
    brevity = math.exp(1 - (6 + 5) / (6 + 3))
    by_hand = 100 * brevity * math.prod(precisions) ** (1 / 4)
    assert multi30k_bleu(hypotheses, references).bleu == pytest.approx(by_hand, abs=1e-9)
    assert by_hand == pytest.approx(56.84, abs=0.01)  # 71.0 without the brevity penalty


def test_law_multi_bleu_is_zero_without_a_correct_4_gram():
    hypotheses, references = ["ein mann läuft schnell"], ["ein mann läuft langsam"]
    assert multi30k_bleu(hypotheses, references).bleu == 0  # precisions 3/4, 2/3, 1/2, 0
    assert sacrebleu_13a(hypotheses, references).bleu > 30  # with smoothing


def test_law_case_and_quotation_marks_count_in_13a_only():
    references = [*REFERENCES, "Er sagt: „Ja“, und geht."]
    for change in (str.lower, lambda text: text.replace("„", '"')):
        hypotheses = list(map(change, references))
        assert multi30k_bleu(hypotheses, references).bleu == pytest.approx(100, abs=1e-9)
        assert sacrebleu_13a(hypotheses, references).bleu < 95


def test_law_processed_hypotheses_are_not_processed_again():
    references = ["The dog's ball is on the grass.", "A man is at a kid's table."]
    prepared = [moses_lowercase(text, "en") for text in references]
    score = multi30k_bleu_of_prepared(prepared, references, "en")
    assert score == multi30k_bleu(references, references, "en")
    assert score.bleu == pytest.approx(100, abs=1e-9)
    assert multi30k_bleu(prepared, references, "en").bleu < 95


def test_law_a_signature_describes_the_computation():
    signature = sacrebleu_13a(REFERENCES, REFERENCES).signature
    assert signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|")
    assert multi30k_bleu(REFERENCES, REFERENCES, "en").signature == (
        "lowercased, punctuation-normalized, Moses-tokenized (en, not escaped) by "
        f"sacremoses {version('sacremoses')}; one reference, no smoothing, as multi-bleu.perl, by "
        f"sacrebleu {version('sacrebleu')}"
    )


CHINESE = ["他从去年春天起就一直住在北京。", "我喜欢 Python，也喜欢音乐。"]
THAI = ["ฉันไปตลาดกับแม่", "เขาอ่านหนังสือทุกวัน"]


@pytest.mark.parametrize(
    ("tokenizer", "languages"),
    [
        ("zh", ["zh-CN", "zh_Hans", "ZH", "zho_Hant", "cmn", "yue_Hant", "cn", "zt", "nan", "hak"]),
        ("ja-mecab", ["ja-JP", "jpn", "jpn_Jpan", "jp"]),
        ("ko-mecab", ["ko_KR", "kor_Hang"]),
        ("char", ["th", "th-TH", "khm_Khmr", "lo", "my", "mya", "mnw", "nod", "bo", "dzo"]),
        ("13a", ["de", "en-GB", "vi", "hi", "arb_Arab", "zha", "kok", ""]),
    ],
)
def test_law_the_tokenizer_is_that_of_the_language(tokenizer: str, languages: list[str]):
    assert set(map(tokenizer_for, languages)) == {tokenizer}


def test_oracle_sacrebleu_takes_the_same_tokenizers():
    theirs = dict.fromkeys(("de", "hi", "vi", "ar"), BLEU.TOKENIZER_DEFAULT) | BLEU._TOKENIZER_MAP
    assert {"zh", "ja", "ko"} <= theirs.keys()
    assert {language: tokenizer_for(language) for language in theirs} == theirs


@pytest.mark.parametrize(("language", "texts"), [("zh", CHINESE), ("th", THAI)])
def test_oracle_bleu_of_languages_without_spaces(language: str, texts: list[str]):
    tokenizer = tokenizer_for(language)
    worse = [texts[0], texts[1][:4] + texts[1][6:]]
    score = sacrebleu(worse, texts, tokenizer=tokenizer)
    assert score.bleu == pytest.approx(BLEU(tokenize=tokenizer).corpus_score(worse, [texts]).score)
    assert 40 < score.bleu < 90
    assert f"|tok:{tokenizer}|" in score.signature


@pytest.mark.message
@pytest.mark.parametrize(
    ("measure", "name", "texts"),
    [
        (sacrebleu_13a, "13a", CHINESE),
        (sacrebleu_13a, "13a", THAI),
        (partial(sacrebleu, tokenizer="zh"), "zh", THAI),
        (partial(multi30k_bleu, language="zh"), "Moses", CHINESE[:1]),
    ],
)
def test_message_a_tokenizer_that_leaves_sentences_whole(measure: Callable, name: str, texts: list[str]):
    words = rf"^split by {name}, the references have only \d tokens for about \d+ words; for a .* char$"
    with pytest.warns(UserWarning, match=words):
        assert measure(texts, texts).bleu < 50  # although they are equal


@pytest.mark.message
@pytest.mark.parametrize(
    ("tokenizer", "package"),
    [("ja-mecab", "sacrebleu[ja]"), ("ko-mecab", "sacrebleu[ko]"), ("flores200", "sentencepiece")],
)
def test_message_a_tokenizer_whose_packages_are_not_installed(tokenizer: str, package: str, monkeypatch):
    for module in ("tokenizer_ja_mecab", "tokenizer_ko_mecab"):
        monkeypatch.setattr(f"sacrebleu.tokenizers.{module}.MeCab", None)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    expected = f"the tokenizer {tokenizer} needs packages that are not installed; run pip install '{package}'"
    with pytest.raises(ValueError, match=re.escape(expected)):
        sacrebleu(REFERENCES, REFERENCES, tokenizer=tokenizer)


@pytest.mark.message
@pytest.mark.parametrize(
    ("tokenizer", "words"),
    [
        (
            "flores200",
            r"sacreBLEU cannot download https://.* tokenizer flores200 \(no network\); .*: 13a, c",
        ),
        ("mecab", "there is no tokenizer 'mecab' for BLEU; choose from 13a, char"),
    ],
)
def test_message_a_tokenizer_that_cannot_be_downloaded_or_is_unknown(
    tokenizer: str, words: str, monkeypatch, tmp_path
):
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_spm.SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr("socket.getaddrinfo", Mock(side_effect=OSError("no network")))
    with pytest.raises(ValueError, match=words):
        sacrebleu(REFERENCES, REFERENCES, tokenizer=tokenizer)


MEASURES = [sacrebleu_13a, multi30k_bleu, chrf, partial(ter, language="de")]


@pytest.mark.message
@pytest.mark.parametrize("measure", [*MEASURES, multi30k_bleu_of_prepared])
def test_message_different_numbers_of_hypotheses_and_references(measure: Callable):
    with pytest.raises(ValueError, match=r"3 hypotheses but 2 references; give one reference for each hyp"):
        measure(["a", "b", "c"], ["a", "b"])
    with pytest.raises(ValueError, match=r"2 hypotheses but 3 references; give one reference for each hyp"):
        measure(["a", "b"], ["a", "b", "c"])  # the first two alone would score 100
    with pytest.raises(ValueError, match=r"there are no hypotheses; give at least one"):
        measure([], [])


@pytest.mark.message
@pytest.mark.parametrize("measure", [partial(sacrebleu, tokenizer="13a"), *MEASURES[2:]])
def test_message_no_references(measure: Callable):
    with pytest.raises(ValueError, match="there are no references; give at least one list of them"):
        measure(REFERENCES)


@pytest.mark.message
@pytest.mark.parametrize("measure", MEASURES)
def test_message_references_in_another_unicode_form(measure: Callable):
    decomposed = [normalize("NFD", text) for text in REFERENCES]
    words = r"^0 of 2 hypotheses and 2 of the references are not in Unicode's composed form: equal words coun"
    with pytest.warns(UserWarning, match=words):
        assert measure(REFERENCES, decomposed) != measure(REFERENCES, REFERENCES)
    measure(decomposed, decomposed)  # a warning would be an error here
