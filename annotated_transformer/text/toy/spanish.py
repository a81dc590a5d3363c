"""Sentence pairs in English and Spanish from a small grammar: the guide, *Train and translate*."""

import random

from annotated_transformer.text.sentence_pairs import SentencePair

PEOPLE = "boy niño, girl niña, man hombre, woman mujer, king rey, queen reina"
THINGS = "house casa, table mesa, car coche, chair silla, book libro, hat sombrero"
TRAITS = "tall alt-, old viej-, quiet tranquil-, small pequeñ-"
COLORS = "red roj-, black negr-, white blanc-, yellow amarill-"
VERBS = "buy compra, paint pinta, find encuentra, clean limpia, sell vende"
TIMES = [("today ", "hoy "), ("now ", "ahora "), ("", "")]
FEMININE = {"niña", "mujer", "reina", "casa", "mesa", "silla"}


def spanish_pairs(count: int, *, seed: int) -> list[SentencePair]:
    """Draw sentences in English and their Spanish translations; a pair can occur more than once."""
    draw = random.Random(seed)
    return [_sentence_pair(draw) for _ in range(count)]


def _sentence_pair(draw: random.Random) -> SentencePair:
    who, quien = _noun_phrase(draw, PEOPLE, TRAITS)
    what, que = _noun_phrase(draw, THINGS, COLORS)
    (verb, verbo), negated = _pick(draw, VERBS), draw.random() < 0.5
    when, cuando = draw.choice(TIMES)
    english = f"{when}{who} {f'does not {verb}' if negated else f'{verb}s'} {what}."
    spanish = f"{cuando}{quien} {'no ' if negated else ''}{verbo} {que}."
    return english.capitalize(), spanish.capitalize()


def _noun_phrase(draw: random.Random, nouns: str, adjectives: str) -> SentencePair:
    """The adjective follows the Spanish noun and agrees with it."""
    (english, spanish), (adjective, stem) = _pick(draw, nouns), _pick(draw, adjectives)
    article, ending = ("la", "a") if spanish in FEMININE else ("el", "o")
    if draw.random() < 0.25:
        return f"the {english}", f"{article} {spanish}"
    return f"the {adjective} {english}", f"{article} {spanish} {stem[:-1]}{ending}"


def _pick(draw: random.Random, words: str) -> list[str]:
    return draw.choice(words.split(", ")).split()
