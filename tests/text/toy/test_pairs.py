"""Pairs of the toy language: many, distinct, and determined by the seed."""

import itertools

import pytest

from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, SPECIAL_TOKENS
from annotated_transformer.text.toy.grammar import ToyPair
from annotated_transformer.text.toy.pairs import (
    Choices,
    WordVocabulary,
    count_toy_pairs,
    grammar,
    toy_pairs,
)


@pytest.fixture(scope="module")
def many() -> list[ToyPair]:
    return toy_pairs(2503, seed=0)


def texts(pairs: list[ToyPair]) -> list[str]:
    return [text for pair in pairs for text in (pair.source, pair.target)]


def test_law_choices_are_the_cartesian_product():
    letters, digits, signs = "abc", (1, 2, 3, 4, 5), [True, False]
    choices = Choices(lambda *chosen: chosen, letters, digits, signs)
    made = [choices[i] for i in range(len(choices))]
    assert made == list(itertools.product(letters, digits, signs))
    nested = Choices(lambda pair, sign: (*pair, sign), Choices(lambda *two: two, letters, digits), signs)
    assert [nested[i] for i in range(len(nested))] == made


@pytest.mark.usefixtures("unchecked")
def test_law_pairs_are_distinct_and_english_determines_german(many: list[ToyPair]):
    assert count_toy_pairs() >= 20_000
    assert len({pair.source for pair in many}) == len({pair.target for pair in many}) == len(many)
    kinds = [(" dass " in pair.target, " weil " in pair.target) for pair in many]
    assert min(kinds.count(kind) for kind in ((False, False), (True, False), (False, True))) > len(many) / 4
    small = [pattern for pattern in grammar() if len(pattern) < 6000]
    every = [pattern[i] for pattern in small for i in range(len(pattern))]
    assert len({pair.source for pair in every}) == len(every) == sum(map(len, small)) > 1000


def test_law_the_seed_determines_the_pairs():
    first, again, other = toy_pairs(97, seed=1), toy_pairs(97, seed=1), toy_pairs(97, seed=2)
    assert first == again != other
    assert first[0].source != other[0].source
    assert len(first) == 97


def test_law_encoded_words_can_be_decoded(many: list[ToyPair]):
    vocabulary = WordVocabulary(texts(many))
    assert vocabulary.vocab_size == len(vocabulary.words) == len(set(vocabulary.words))
    assert vocabulary.words == WordVocabulary(texts(many[::-1])).words
    source, target = vocabulary.encode(many[0])
    assert source[-1] == target[-1] == EOS_ID
    assert target[0] == BOS_ID
    assert min(source[:-1] + target[1:-1]) >= len(SPECIAL_TOKENS)
    assert (vocabulary.decode(source), vocabulary.decode(target)) == (many[0].source, many[0].target)


@pytest.mark.message
@pytest.mark.parametrize("count", [0, 10**12])
def test_message_a_count_larger_than_the_grammar(count: int):
    with pytest.raises(ValueError, match=rf"count={count}, but the grammar has \d{{10}} pairs; give a num"):
        toy_pairs(count)
