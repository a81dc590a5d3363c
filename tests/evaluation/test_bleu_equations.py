"""The equations of the chapter on translation, against sacreBLEU and by loops."""

import math

import pytest
import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from annotated_transformer.book.chapters.translation.contrasts import CONTRASTS
from annotated_transformer.book.chapters.translation.exercises import corpus_bleu, draw_texts
from annotated_transformer.checkpointing.checkpoint import EN_DE
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.observation import observe


def grams(tokens, n):
    return [tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1)]


def precision(hypotheses, references, n):
    hits = total = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        ours, theirs = grams(hypothesis.split(), n), grams(reference.split(), n)
        hits += sum(min(ours.count(gram), theirs.count(gram)) for gram in set(ours))
        total += len(ours)
    return hits / total


@pytest.mark.equation("eq-clipped", "eq-brevity", "eq-bleu")
@pytest.mark.parametrize("seed", range(3))
def test_oracle_precisions_brevity_and_bleu_are_sacrebleus(seed):
    hypotheses, references = draw_texts(seed)
    theirs = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(hypotheses, [references])
    precisions = [precision(hypotheses, references, n) for n in range(1, 5)]
    assert theirs.precisions == pytest.approx([100 * p for p in precisions])
    lengths = [sum(len(text.split()) for text in texts) for texts in (hypotheses, references)]
    brevity = min(1, math.exp(1 - lengths[1] / lengths[0]))
    assert theirs.bp == pytest.approx(brevity)
    assert brevity < 1
    assert theirs.score == pytest.approx(100 * brevity * math.prod(precisions) ** 0.25)


@pytest.mark.equation("eq-one-word")
@pytest.mark.parametrize("c", [7, 8, 20])
def test_oracle_the_price_of_one_word(c):
    inside, end = ((c - 5) * (c - 7) / (c * (c - 2))) ** 0.25, ((c - 4) / c) ** 0.25
    words = [f"w{number}" for number in range(c)]
    for place, share in ((3, inside), (c - 4, inside), (0, end), (c - 1, end)):
        wrong = [*words[:place], "x", *words[place + 1 :]]
        assert corpus_bleu([" ".join(wrong)], [" ".join(words)]) == pytest.approx(100 * share)


@pytest.mark.equation("eq-chrf")
def test_oracle_chrf_is_sacrebleus():
    for ours, theirs in (("Der Hund sieht", "Der Hund sieht die Katze."), ("seiner Mutter", "deiner Mutter")):
        shares = []
        for first, second in ((ours, theirs), (theirs, ours)):
            one, two = (text.replace(" ", "") for text in (first, second))
            shares.append(sum(precision([" ".join(one)], [" ".join(two)], n) for n in range(1, 7)) / 6)
        p, r = shares
        assert p != r or len(ours) == len(theirs)
        expected = CHRF().corpus_score([ours], [[theirs]]).score
        assert 100 * 5 * p * r / (4 * p + r) == pytest.approx(expected)


@pytest.mark.equation("eq-margin")
def test_oracle_a_margin_is_the_difference_of_two_log_probabilities():
    translator = Translator.from_pretrained(EN_DE)
    contrast = CONTRASTS[0]
    (source,) = translator.tokenizer.encode_source([contrast.source])
    logs, products = [], []
    for target in translator.tokenizer.encode_target([contrast.right, contrast.wrong]):
        ids = torch.tensor([source]), torch.tensor([target[1:]])
        logs.append(observe(translator.model, *ids).log_probs.item())
        with torch.no_grad():
            logits = translator.model.eval()(ids[0], torch.tensor([target[:-1]]))
        steps = logits[0].softmax(dim=-1).double()
        products.append(math.prod(steps[at, token].item() for at, token in enumerate(target[1:])))
    assert logs[0] - logs[1] == pytest.approx(math.log(products[0] / products[1]), abs=1e-2)
