"""Sentences and how each language orders them: the toy language, as in `toy_words`."""

from dataclasses import dataclass

from annotated_transformer.text.toy.words import NounPhrase, Pronoun, Verb, Word


@dataclass(frozen=True)
class ToyPair:
    """A sentence in both languages, words apart by blanks, and which words belong together.

    `alignment` has a link (source word, target word) for each target word at least: both
    parts of a separable verb are linked to the English verb, a comma to the conjunction
    that it stands before. Sentences begin small and end without a full stop, so that a word
    has one spelling.
    """

    source: str
    target: str
    alignment: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Clause:
    """Who does what to whom, before a language has put it in order."""

    subject: NounPhrase | Pronoun
    verb: Verb
    objects: tuple[NounPhrase, ...] = ()

    def english(self) -> list[Word]:
        """Return subject, verb, objects, whatever the clause."""
        words = _named("subject", self.subject.english())
        words.append((self.verb.english(self.subject.person), "verb"))
        for name, phrase in zip(self.verb.cases, self.objects, strict=True):
            words += _named(name, phrase.english())
        return words

    def german_main(self, first: list[Word]) -> list[Word]:
        """Return the clause with its verb second and its particle last.

        `first` takes the first place, and so sends the subject behind the verb; where it is
        empty, the subject is first.
        """
        subject, objects, finite = self._german()
        particle = [(self.verb.particle, "verb")] if self.verb.particle else []
        if not first:
            return [*subject, (finite, "verb"), *objects, *particle]
        return [*first, (finite, "verb"), *subject, *objects, *particle]

    def german_subordinate(self) -> list[Word]:
        """Return the clause with its verb last, the particle joined to it."""
        subject, objects, finite = self._german()
        return [*subject, *objects, (self.verb.particle + finite, "verb")]

    def _german(self) -> tuple[list[Word], list[Word], str]:
        objects = [
            word
            for case, phrase in zip(self.verb.cases, self.objects, strict=True)
            for word in _named(case, phrase.german(case))
        ]
        subject = _named("subject", self.subject.german("nominative"))
        return subject, objects, self.verb.german(self.subject.person)


def statement(adverb: tuple[str, str] | None, clause: Clause) -> ToyPair:
    """Say a clause, perhaps with an adverb before it: "today the dog sleeps"."""
    if adverb is None:
        return _pair(clause.english(), clause.german_main([]))
    english, german = ([(word, "adverb")] for word in adverb)
    return _pair(english + clause.english(), clause.german_main(german))


def that(speaker: NounPhrase | Pronoun, verb: Verb, clause: Clause) -> ToyPair:
    """Report a clause: "she knows that the dog sleeps"."""
    return _join(Clause(speaker, verb), ("that", "dass"), clause)


def because(main: Clause, reason: Clause) -> ToyPair:
    """Give the reason of a clause: "we wait because the dog sleeps"."""
    return _join(main, ("because", "weil"), reason)


def _join(main: Clause, conjunction: tuple[str, str], subordinate: Clause) -> ToyPair:
    """Join two clauses; the words of the second get roles of their own."""
    english, german = ((word, "conjunction") for word in conjunction)
    return _pair(
        [*main.english(), english, *_named("subordinate", subordinate.english())],
        [
            *main.german_main([]),
            (",", "conjunction"),
            german,
            *_named("subordinate", subordinate.german_subordinate()),
        ],
    )


def _named(role: str, words: list[Word]) -> list[Word]:
    """Return the words with the role before the part: two objects have two nouns."""
    return [(word, f"{role} {part}") for word, part in words]


def _pair(english: list[Word], german: list[Word]) -> ToyPair:
    """Link the words that play the same part."""
    links = {
        (i, j) for i, (_, part) in enumerate(english) for j, (_, same) in enumerate(german) if part == same
    }
    source, target = (" ".join(word for word, _ in words) for words in (english, german))
    return ToyPair(source, target, frozenset(links))
