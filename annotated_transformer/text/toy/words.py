"""Words of the toy language, and their inflection in both languages: for the chapter on training."""

from dataclasses import dataclass
from typing import Literal

Case = Literal["nominative", "accusative", "dative"]
Form = Literal["masculine", "feminine", "neuter", "plural"]  # the plural has no gender
Person = Literal["first", "third", "plural"]  # the persons with different verb forms
Determiner = Literal["the", "a", "my"]
Declension = dict[Case, tuple[str, ...]]  # a word or an ending for each form
Word = tuple[str, str]  # a word and its part of speech: words with equal parts are linked

FORMS: tuple[Form, ...] = ("masculine", "feminine", "neuter", "plural")
DETERMINERS: dict[Determiner, Declension] = {
    "the": {
        "nominative": ("der", "die", "das", "die"),
        "accusative": ("den", "die", "das", "die"),
        "dative": ("dem", "der", "dem", "den"),
    },
    "a": {
        "nominative": ("ein", "eine", "ein"),  # without a plural
        "accusative": ("einen", "eine", "ein"),
        "dative": ("einem", "einer", "einem"),
    },
    "my": {
        "nominative": ("mein", "meine", "mein", "meine"),
        "accusative": ("meinen", "meine", "mein", "meine"),
        "dative": ("meinem", "meiner", "meinem", "meinen"),
    },
}
WEAK_ENDINGS: Declension = {  # after "the", which shows the gender
    "nominative": ("e", "e", "e", "en"),
    "accusative": ("en", "e", "e", "en"),
    "dative": ("en", "en", "en", "en"),
}
MIXED_ENDINGS: Declension = WEAK_ENDINGS | {  # after "a" and "my": "ein" does not always show the gender
    "nominative": ("er", "e", "es", "en"),
    "accusative": ("en", "e", "es", "en"),
}


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; German has a gender, and adds -n in the dative plural."""

    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: Form


@dataclass(frozen=True)
class NounPhrase:
    """A determiner, perhaps an adjective (English and German), and a noun."""

    determiner: Determiner
    adjective: tuple[str, str] | None
    noun: Noun
    plural: bool = False

    @property
    def person(self) -> Person:
        """Return the person that a verb agrees with."""
        return "plural" if self.plural else "third"

    def english(self) -> list[Word]:
        """Return the phrase, such as "an old dog"."""
        noun = self.noun.english_plural if self.plural else self.noun.english
        rest = [(noun, "noun")]
        if self.adjective is not None:
            rest.insert(0, (self.adjective[0], "adjective"))
        before_vowel = self.determiner == "a" and rest[0][0][0] in "aeiou"
        return [("an" if before_vowel else self.determiner, "determiner"), *rest]

    def german(self, case: Case) -> list[Word]:
        """Return the phrase, such as "einen alten Hund": its words agree in gender, number and case."""
        form = FORMS.index("plural" if self.plural else self.noun.gender)
        words = [(DETERMINERS[self.determiner][case][form], "determiner")]
        if self.adjective is not None:
            endings = WEAK_ENDINGS if self.determiner == "the" else MIXED_ENDINGS
            words.append((self.adjective[1] + endings[case][form], "adjective"))
        noun = self.noun.german_plural if self.plural else self.noun.german
        if self.plural and case == "dative" and not noun.endswith("n"):
            noun += "n"
        return [*words, (noun, "noun")]


@dataclass(frozen=True)
class Pronoun:
    """A pronoun, which occurs only as a subject."""

    word: str
    translation: str
    person: Person

    def english(self) -> list[Word]:
        """Return the pronoun."""
        return [(self.word, "pronoun")]

    def german(self, case: Case) -> list[Word]:
        """Return the pronoun, which is always in the nominative."""
        return [(self.translation, "pronoun")]


@dataclass(frozen=True)
class Verb:
    """A verb in the present tense, and the cases of its objects in German.

    The `particle` of a separable verb comes last in a main clause ("ruft … an"), and is joined to the
    verb in a subordinate clause ("anruft").
    """

    base: str
    with_s: str
    first: str
    third: str
    plural: str
    particle: str
    cases: tuple[Case, ...]

    def english(self, person: Person) -> str:
        """Return the form that agrees with a subject, such as "calls"."""
        return self.with_s if person == "third" else self.base

    def german(self, person: Person) -> str:
        """Return the form that agrees with a subject, without the particle, such as "ruft"."""
        return {"first": self.first, "third": self.third, "plural": self.plural}[person]
