"""Contrastive evaluation: the list, log-probabilities against those of the decoder, and the control."""

import pytest
import torch

from annotated_transformer.book.chapters.translation.contrasts import (
    CONTRASTS,
    log_probs,
    margins,
    read_contrasts,
)
from annotated_transformer.checkpointing.checkpoint import EN_DE
from annotated_transformer.decoding.translator import Translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.from_pretrained(EN_DE)


def test_law_a_contrast_differs_in_the_braces_only():
    (first, second) = read_contrasts("x", "  A cow. = {Eine|Ein} Kuh{|!}.\n  No. = {Nein|Ja}.")
    assert first == ("x", "A cow.", "Eine Kuh.", "Ein Kuh!.")
    assert second == ("x", "No.", "Nein.", "Ja.")


def test_law_the_list_has_eight_contrasts_of_each_kind_and_no_mark_is_left():
    kinds = [contrast.kind for contrast in CONTRASTS]
    assert {kinds.count(kind) for kind in kinds} == {8}
    assert len({contrast.source for contrast in CONTRASTS}) == len(CONTRASTS)
    for _, source, right, wrong in CONTRASTS:
        assert right != wrong
        assert not set("{|}=") & set(source + right + wrong)
        assert "  " not in right + wrong


def test_oracle_log_probabilities_are_those_of_the_decoder(translator: Translator):
    texts = ["The weather is nice today.", "I do not know where he lives, and nobody else does."]
    explained = translator.explain(texts)
    pairs = [(text, found.text) for text, found in zip(texts, explained, strict=True)]
    found = log_probs(translator.model, translator.tokenizer, pairs)
    torch.testing.assert_close(found, torch.tensor([each.log_prob for each in explained]))


def test_oracle_no_contrast_is_clearly_the_wrong_way_round_for_the_shipped_model(translator: Translator):
    found = margins(translator.model, translator.tokenizer, list(CONTRASTS))
    assert found.min() > -2
    assert (found > 2).sum() > 50  # each of these would be found if it were the wrong way round


def test_law_a_margin_is_right_minus_wrong_and_the_control_takes_a_later_source(translator: Translator):
    contrasts = list(CONTRASTS[:3])
    for shift in (0, 1, 2):
        found = margins(translator.model, translator.tokenizer, contrasts, shift=shift)
        for place, contrast in enumerate(contrasts):
            source = contrasts[(place + shift) % 3].source
            pairs = [(source, contrast.right), (source, contrast.wrong)]
            right, wrong = log_probs(translator.model, translator.tokenizer, pairs)
            torch.testing.assert_close(found[place], right - wrong, rtol=0, atol=1e-4)
