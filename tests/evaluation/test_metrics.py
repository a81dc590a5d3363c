"""chrF and TER, compared with values that were calculated by hand."""

import pytest

from annotated_transformer.evaluation.bleu import sacrebleu
from annotated_transformer.evaluation.metrics import chrf, ter

SAID = ["ein Mann schläft im Park .", "zwei Hunde spielen"]
MEANT = ["ein Mann schläft in einem Park .", "zwei große Hunde spielen"]


def test_oracle_ter_counts_edits_per_word_of_the_reference():
    # "im" is replaced by "in", and "einem" and "große" are inserted: 3 edits for 7 + 4 words.
    score = ter(SAID, MEANT, language="de")
    assert (score.name, score.value) == ("TER", pytest.approx(100 * 3 / 11))
    assert score.signature.startswith("nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:")
    assert ter(["b c a"], ["a b c"], language="en").value == pytest.approx(100 / 3)  # "a" is moved
    assert ter(["d e f g"], ["a"], language="en").value == pytest.approx(400)


def test_oracle_chrf_of_one_pair_by_hand():
    # Characters: 2 of 3 and 2 of 4; pairs: 1 of 2 and 1 of 3; triples: 0 of 1 and 0 of 2. Longer ones: none.
    precision, recall = (2 / 3 + 1 / 2 + 0) / 3, (2 / 4 + 1 / 3 + 0) / 3
    f2 = 5 * precision * recall / (4 * precision + recall)
    score = chrf(["abx"], ["abcd"])
    assert (score.name, score.value) == ("chrF2", pytest.approx(100 * f2))
    assert score.signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")


def test_law_chrf_plus_plus_also_counts_words():
    turned = ["Park im schläft Mann ein .", "spielen Hunde große zwei"]
    plain, words = (chrf(turned, MEANT, word_order=order) for order in (0, 2))
    assert words.name == "chrF2++"
    assert words.value < plain.value < 100
    assert "|nw:2|" in words.signature


def test_law_the_better_of_several_references_counts():
    for compute, best in (
        (lambda *texts: sacrebleu(*texts, tokenizer="13a").bleu, 100),
        (lambda *texts: chrf(*texts).value, 100),
        (lambda *texts: -ter(*texts, language="de").value, 0),
    ):
        assert compute(SAID, MEANT) < compute(SAID, MEANT, SAID) == pytest.approx(best)
    assert chrf(SAID, MEANT, SAID).signature.startswith("nrefs:2|")


def test_law_ter_counts_chinese_characters():
    score = ter(["他住在北京。"], ["她住在北京。"], language="zh-CN")
    assert score.value == pytest.approx(100 / 6)
    assert "|asian:yes|" in score.signature


def test_law_ter_warns_of_references_without_spaces():
    with pytest.warns(UserWarning, match="split by spaces, the references have only 1 tokens for about"):
        ter(["ฉันอยากเรียนภาษาไทย"], ["รถไฟของเราออกพรุ่งนี้เช้า"], language="th")
