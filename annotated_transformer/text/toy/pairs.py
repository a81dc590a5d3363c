"""Sentence pairs of the toy language, with word alignments: for the chapter on training."""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from annotated_transformer.text.batching import Pair
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, SPECIAL_TOKENS
from annotated_transformer.text.toy import lexicon as lexicon
from annotated_transformer.text.toy.grammar import Clause, ToyPair, because, statement, that
from annotated_transformer.text.toy.words import NounPhrase, Pronoun, Verb

T = TypeVar("T")


class Choices(Generic[T]):
    """The results of `make` for every choice of one element from each of `options`, computed on access."""

    def __init__(self, make: Callable[..., T], *options: "Sequence[Any] | Choices[Any]") -> None:
        self.make, self.options = make, options

    def __len__(self) -> int:
        return math.prod(map(len, self.options))

    def __getitem__(self, index: int) -> T:
        if not 0 <= index < len(self):
            raise IndexError(f"index {index} of {len(self)} choices; count from 0")
        chosen = []
        for options in reversed(self.options):  # the last option changes fastest
            index, place = divmod(index, len(options))
            chosen.append(options[place])
        return self.make(*reversed(chosen))


def grammar() -> list[Choices[ToyPair]]:
    """Return the patterns of the language, each with all of its sentences.

    Sentences about "I", "she" and "we" are separate patterns: among the many sentences about noun
    phrases, they would be drawn very rarely.
    """
    described = (None, *lexicon.ADJECTIVES)
    persons = lexicon.phrases(lexicon.ANIMALS_AND_PEOPLE, described)
    plain = lexicon.PRONOUNS + lexicon.phrases(lexicon.ANIMALS_AND_PEOPLE, (None,))
    things = lexicon.phrases(lexicon.THINGS, described)
    facts = [
        Choices(_clause, subjects, verbs, *objects)
        for subjects in (lexicon.PRONOUNS, persons)
        for verbs, *objects in (
            (lexicon.INTRANSITIVE,),
            (lexicon.WITH_ACCUSATIVE, persons),
            (lexicon.WITH_DATIVE, persons),
            (lexicon.WITH_BOTH, persons, things),
        )
    ]
    reasons = Choices(_clause, plain, lexicon.INTRANSITIVE)
    adverbs = (None, *lexicon.ADVERBS)
    return [
        *(Choices(statement, adverbs, fact) for fact in facts),
        *(Choices(that, plain, lexicon.WITH_THAT, fact) for fact in facts),
        *(Choices(because, fact, reasons) for fact in facts),
    ]


def _clause(subject: NounPhrase | Pronoun, verb: Verb, *objects: NounPhrase) -> Clause:
    return Clause(subject, verb, objects)


def count_toy_pairs() -> int:
    """Return the number of distinct pairs of the grammar."""
    return sum(map(len, grammar()))


def toy_pairs(count: int, *, seed: int = 0) -> list[ToyPair]:
    """Return `count` distinct pairs in random order, the same ones for the same seed.

    Every pattern of the grammar contributes the same number, or all its sentences if they are
    fewer.
    """
    if not 0 < count <= count_toy_pairs():
        raise ValueError(
            f"count={count}, but the grammar has {count_toy_pairs()} pairs; give a number from 1 to that"
        )
    rng = random.Random(seed)
    pairs: list[ToyPair] = []
    patterns = sorted(grammar(), key=len)
    for index, pattern in enumerate(patterns):
        share = min(len(pattern), (count - len(pairs)) // (len(patterns) - index))
        pairs += [pattern[i] for i in rng.sample(range(len(pattern)), share)]
    rng.shuffle(pairs)
    return pairs


class WordVocabulary:
    """One id for each word, shared by both languages: the simplest tokenizer.

    A word with the same spelling in both languages, such as "an", has one id.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        """Collect the words of the texts; the order of the texts does not matter."""
        words = sorted({word for text in texts for word in text.split()})
        self.words = [*SPECIAL_TOKENS, *words]
        self._ids = {word: id_ for id_, word in enumerate(self.words)}

    @property
    def vocab_size(self) -> int:
        """Count the ids, special tokens included."""
        return len(self.words)

    def encode(self, pair: ToyPair) -> Pair:
        """Return source … EOS and BOS … target … EOS."""
        source, target = self._encode(pair.source), self._encode(pair.target)
        return [*source, EOS_ID], [BOS_ID, *target, EOS_ID]

    def decode(self, ids: list[int]) -> str:
        """Return the words of the ids, without the special tokens."""
        return " ".join(self.words[id_] for id_ in ids if id_ >= len(SPECIAL_TOKENS))

    def _encode(self, text: str) -> list[int]:
        return [self._ids[word] for word in text.split()]
