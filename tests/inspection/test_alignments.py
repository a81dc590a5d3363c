"""Alignments by hand: how they are read, words of tokens, and aligned_share with known weights."""

import pytest
import torch

from annotated_transformer.checkpointing.checkpoint import EN_DE
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.alignments import (
    ALIGNMENTS,
    aligned_share,
    read_alignments,
    word_attention,
    word_places,
    words_of,
)


def test_law_a_gloss_names_the_places_of_source_words():
    (found,) = read_alignments("He did not go. = Er ging nicht. = He did+go not")
    assert found.links == ({0}, {1, 3}, {2})


@pytest.mark.parametrize("glosses", ["He did", "He did went", "He did not go"])
def test_message_a_gloss_that_is_no_word_of_the_source(glosses: str):
    with pytest.raises(
        ValueError, match=r"not one for each word of 'Er ging nicht\.', from the words of 'He did not go\.'"
    ):
        read_alignments(f"He did not go. = Er ging nicht. = {glosses}")


def test_law_no_word_occurs_twice_in_a_source():
    for alignment in ALIGNMENTS:
        words = words_of(alignment.source)
        assert len(set(words)) == len(words)


def test_law_punctuation_and_eos_are_part_of_no_word():
    tokens = [" Ich", " we", "iß", ",", " wo", " er", " ist", ".", "<eos>"]
    assert word_places(tokens) == [0, 1, 1, None, 2, 3, 4, None, None]


def test_law_weights_of_tokens_are_added_over_sources_and_averaged_over_targets():
    translator = Translator.from_pretrained(EN_DE)
    alignment = ALIGNMENTS[0]
    found = word_attention(translator.model, translator.tokenizer, alignment)
    (explained,) = translator.explain([alignment.source])
    assert explained.text == alignment.target  # so both look at the same tokens
    rows, columns = word_places(explained.target_tokens), word_places(explained.source_tokens)
    for row, column in ((0, 0), (3, 4), (6, 6)):
        these = [place for place, word in enumerate(rows) if word == row]
        those = [place for place, word in enumerate(columns) if word == column]
        by_hand = explained.attention[:, :, these][..., those].sum(dim=-1).mean(dim=-1)
        torch.testing.assert_close(found[:, :, row, column], by_hand)


def test_oracle_agreement_counts_the_words_whose_largest_weight_is_on_a_link():
    alignments = read_alignments("a b c = x y = b a+c\n a b = z = a")
    right, wrong = torch.eye(3)[[1, 2]], torch.eye(3)[[0, 1]]
    weights = [torch.stack([right, wrong]), torch.tensor([[[0.9, 0.1]], [[0.6, 0.4]]])]
    assert aligned_share(weights, alignments).tolist() == pytest.approx([1, 1 / 3])
