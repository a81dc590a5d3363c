"""The alignments of the chapter on translation."""

import pytest
import torch

from annotated_transformer.book.chapters.translation.alignments import (
    ALIGNMENTS,
    read_alignments,
    word_attention,
    word_places,
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
