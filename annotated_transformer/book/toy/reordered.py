"""A toy language with reordering: every word has one translation, but moves; one word becomes three."""

from collections.abc import Sequence
from itertools import product

from jaxtyping import Int
from torch import Tensor

from annotated_transformer.text.batching import pad
from annotated_transformer.text.toy.grammar import ToyPair
from annotated_transformer.text.toy.pairs import WordVocabulary

ANIMALS = {
    "dog": "chien",
    "cat": "chat",
    "horse": "cheval",
    "bird": "oiseau",
    "fox": "renard",
    "bear": "ours",
}
THINGS = {
    "potato": "pomme de terre",
    "pear": "poire",
    "flower": "fleur",
    "book": "livre",
    "house": "maison",
    "key": "clef",
}
ADJECTIVES = {"red": "rouge", "young": "jeune", "sad": "triste", "calm": "calme", "wise": "sage"}
VERBS = {
    "sees": "voit",
    "loves": "aime",
    "finds": "trouve",
    "wants": "veut",
    "takes": "prend",
    "paints": "peint",
}
TRANSLATIONS = ANIMALS | THINGS | ADJECTIVES | VERBS
Phrase = tuple[str | None, str]  # perhaps an adjective, and a noun


def reordered_pairs() -> list[ToyPair]:
    """Return all sentences of the language, such as "young dog paints red potato".

    The target has French words in a different order: adjectives follow their noun, and the verb
    comes last, "chien jeune pomme de terre rouge peint". Each target word is linked to one source word.
    """
    adjectives = (None, *ADJECTIVES)
    subjects, objects = (tuple(product(adjectives, nouns)) for nouns in (ANIMALS, THINGS))
    return [_pair(*chosen) for chosen in product(subjects, VERBS, objects)]


def reordered_vocabulary() -> WordVocabulary:
    """Return the words of both languages, with their ids."""
    return WordVocabulary(text for pair in reordered_pairs() for text in (pair.source, pair.target))


def padded_ids(
    pairs: Sequence[ToyPair], vocabulary: WordVocabulary
) -> tuple[Int[Tensor, "batch src_tokens"], Int[Tensor, "batch tgt_tokens"]]:
    """Return the ids of the sources and of the targets of some pairs."""
    sources, targets = zip(*(vocabulary.encode(pair) for pair in pairs), strict=True)
    return pad(list(sources)), pad(list(targets))


def _pair(subject: Phrase, verb: str, thing: Phrase) -> ToyPair:
    """Translate noun, adjective, noun, adjective, verb, in this order."""
    first, last = ([word for word in phrase if word is not None] for phrase in (subject, thing))
    source, middle = [*first, verb, *last], len(first)
    order = [*reversed(range(middle)), *reversed(range(middle + 1, len(source))), middle]
    target = [(word, place) for place in order for word in TRANSLATIONS[source[place]].split()]
    links = frozenset((place, number) for number, (_, place) in enumerate(target))
    return ToyPair(" ".join(source), " ".join(word for word, _ in target), links)
