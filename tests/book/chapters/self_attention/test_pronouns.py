"""Pronoun sentences: the adjective determines the answer, and no single word gives it away."""

import torch

from annotated_transformer.book.chapters.self_attention.pronouns import (
    IT,
    NOUNS,
    PRONOUN_FEATURES,
    encode_pronouns,
    pronoun_sentences,
)


def test_law_the_hungry_one_is_the_subject_and_the_tasty_one_the_object():
    sentences = pronoun_sentences()
    assert len({sentence.words for sentence in sentences}) == len(sentences) == 60
    for sentence in sentences:
        assert NOUNS[sentence.answer] == sentence.words[0 if sentence.words[-1] == "hungry" else 2]
        assert sentence.words[IT] == "it"
    assert str(sentences[1]) == "fox chased hen because it was tasty"


def test_law_a_vector_encodes_the_word_and_for_nouns_the_role():
    sentences = pronoun_sentences()
    x = encode_pronouns(sentences)
    assert x.shape == (60, 7, len(PRONOUN_FEATURES))
    assert x.unique().tolist() == [0, 1]
    for sentence, rows in zip(sentences, x, strict=True):
        for place, (word, row) in enumerate(zip(sentence.words, rows, strict=True)):
            role = {0: {"subject"}, 2: {"object"}}.get(place, set())
            assert {PRONOUN_FEATURES[i] for i in row.nonzero().flatten().tolist()} == {word} | role
    assert torch.equal(x[0, :6], x[1, :6])  # the sentences are equal up to the adjective
    assert not torch.equal(x[0, 6], x[1, 6])
