"""Alignments by hand: how they are read, words of tokens, and aligned_share with known weights."""

from itertools import combinations

import pytest
import torch

from annotated_transformer.book.chapters.translation.alignments import (
    ALIGNMENTS,
    aligned_share,
    read_alignments,
    word_attention,
    word_places,
    words_of,
)
from annotated_transformer.checkpointing.checkpoint import EN_DE
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.observation import observe


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
    tokens = [" Ich", " we", "iß", ",", " –", " wo", " er", " ist", ".", "<eos>"]
    assert word_places(tokens) == [0, 1, 1, None, None, 2, 3, 4, None, None]
    assert word_places([" द", "ि", "ल", "्", "ल", "ी", "।"]) == [0] * 6 + [None]  # with combining marks


def test_law_weights_of_tokens_are_added_over_sources_and_averaged_over_targets():
    translator = Translator.from_pretrained(EN_DE)
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


def test_oracle_the_shipped_models_last_layer_agrees_with_the_order_of_the_glosses():
    translator = Translator.from_pretrained(EN_DE)
    for alignment in ALIGNMENTS:
        weights = word_attention(translator.model, translator.tokenizer, alignment)[-1].mean(dim=0)
        on = [
            [weights[row, sorted(link)].sum().item() for link in alignment.links]
            for row in range(len(weights))
        ]
        for one, other in combinations(range(len(on)), 2):
            swapped = on[one][other] + on[other][one]
            assert swapped <= on[one][one] + on[other][other], (alignment.target, one, other)


def test_oracle_agreement_counts_the_words_whose_largest_weight_is_on_a_link():
    alignments = read_alignments("a b c = x y = b a+c\n a b = z = a")
    right, wrong = torch.eye(3)[[1, 2]], torch.eye(3)[[0, 1]]
    weights = [torch.stack([right, wrong]), torch.tensor([[[0.9, 0.1]], [[0.6, 0.4]]])]
    assert aligned_share(weights, alignments).tolist() == pytest.approx([1, 1 / 3])
