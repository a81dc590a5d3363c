"""The alignments and log-probabilities of the chapter on translation."""

import pytest
import torch

from annotated_transformer.book.chapters.translation.alignments import (
    ALIGNMENTS,
    aligned_share,
    read_alignments,
    word_attention,
    word_places,
)
from annotated_transformer.book.chapters.translation.contrasts import (
    CONTRASTS,
    log_probs,
    margins,
)
from annotated_transformer.checkpointing.checkpoint import EN_DE
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.observation import observe


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.from_pretrained(EN_DE)


def test_law_a_gloss_names_the_places_of_source_words():
    (found,) = read_alignments("He did not go. = Er ging nicht. = He did+go not")
    assert found.links == ({0}, {1, 3}, {2})


def test_law_punctuation_and_eos_are_part_of_no_word():
    tokens = [" Ich", " we", "iß", ",", " –", " wo", " er", " ist", ".", "<eos>"]
    assert word_places(tokens) == [0, 1, 1, None, None, 2, 3, 4, None, None]
    assert word_places([" द", "ि", "ल", "्", "ल", "ी", "।"]) == [0] * 6 + [None]  # with combining marks


def test_law_weights_of_tokens_are_added_over_sources_and_averaged_over_targets(translator: Translator):
    sizes = set()
    for alignment in ALIGNMENTS[2], ALIGNMENTS[13]:
        found, late = (
            word_attention(translator.model, translator.tokenizer, alignment, going_in=flag)
            for flag in (False, True)
        )
        (src,) = translator.tokenizer.encode_source([alignment.source])
        ((_, *tgt),) = translator.tokenizer.encode_target([alignment.target])
        (weights,) = observe(translator.model, torch.tensor([src]), torch.tensor([tgt])).attention
        rows, columns = (word_places(translator.tokenizer.tokens(ids)) for ids in (tgt, src))
        for row, column in ((0, 0), (3, 4), (4, 0)):
            these = [place for place, word in enumerate(rows) if word == row]
            those = [place for place, word in enumerate(columns) if word == column]
            by_hand = weights[:, :, these][..., those].sum(dim=-1).mean(dim=-1)
            torch.testing.assert_close(found[:, :, row, column], by_hand)
            later = weights[:, :, [place + 1 for place in these]][..., those].sum(dim=-1).mean(dim=-1)
            torch.testing.assert_close(late[:, :, row, column], later)
            sizes |= {("target", len(these)), ("source", len(those))}
    assert sizes >= {("target", 2), ("source", 2)}


def test_oracle_agreement_counts_the_words_whose_largest_weight_is_on_a_link():
    alignments = read_alignments("a b c = x y = b a+c\n a b = z = a")
    right, wrong = torch.eye(3)[[1, 2]], torch.eye(3)[[0, 1]]
    weights = [torch.stack([right, wrong]), torch.tensor([[[0.9, 0.1]], [[0.6, 0.4]]])]
    assert aligned_share(weights, alignments).tolist() == pytest.approx([1, 1 / 3])


def test_oracle_log_probabilities_are_those_of_the_decoder(translator: Translator):
    texts = ["The weather is nice today.", "I do not know where he lives, and nobody else does."]
    explained = translator.explain(texts)
    pairs = [(text, found.text) for text, found in zip(texts, explained, strict=True)]
    found = log_probs(translator.model, translator.tokenizer, pairs)
    torch.testing.assert_close(found, torch.tensor([each.log_prob for each in explained]))


def test_law_a_margin_is_right_minus_wrong_and_the_control_takes_a_later_source(translator: Translator):
    contrasts = list(CONTRASTS[:3])
    for shift in (0, 1, 2):
        found = margins(translator.model, translator.tokenizer, contrasts, shift=shift)
        for place, contrast in enumerate(contrasts):
            source = contrasts[(place + shift) % 3].source
            pairs = [(source, contrast.right), (source, contrast.wrong)]
            right, wrong = log_probs(translator.model, translator.tokenizer, pairs)
            torch.testing.assert_close(found[place], right - wrong, rtol=0, atol=1e-4)
