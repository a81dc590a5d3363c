"""Sentences of the toy language, and the word order of each language."""

from dataclasses import dataclass

from annotated_transformer.text.toy.words import NounPhrase, Pronoun, Verb, Word


@dataclass(frozen=True)
class ToyPair:
    """A sentence in both languages, with spaces between words, and the word alignment.

    `alignment` has at least one link (source word, target word) for each target word: both parts of
    a separable verb are linked to the English verb, and a comma to the conjunction after it. Sentences
    start in lower case and have no period, so that each word has one spelling.
    """

    source: str
    target: str
    alignment: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Clause:
    """Subject, verb and objects, independent of word order."""

    subject: NounPhrase | Pronoun
    verb: Verb
    objects: tuple[NounPhrase, ...] = ()

    def english(self) -> list[Word]:
        """Return subject, verb and objects, in this order in every clause."""
        words = _named("subject", self.subject.english())
        words.append((self.verb.english(self.subject.person), "verb"))
        for name, phrase in zip(self.verb.cases, self.objects, strict=True):
            words += _named(name, phrase.english())
        return words

    def german_main(self, first: list[Word]) -> list[Word]:
        """Return the clause with its verb second and its particle last.

        `first` takes the first place, and the subject follows the verb. If `first` is empty, the
        subject comes first.
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
    """Return a clause, optionally with an adverb before it: "today the dog sleeps"."""
    if adverb is None:
        return _pair(clause.english(), clause.german_main([]))
    english, german = ([(word, "adverb")] for word in adverb)
    return _pair(english + clause.english(), clause.german_main(german))


def that(speaker: NounPhrase | Pronoun, verb: Verb, clause: Clause) -> ToyPair:
    """Return a clause with a subordinate clause: "she knows that the dog sleeps"."""
    return _join(Clause(speaker, verb), ("that", "dass"), clause)


def because(main: Clause, reason: Clause) -> ToyPair:
    """Return a clause with its reason: "we wait because the dog sleeps"."""
    return _join(main, ("because", "weil"), reason)


def _join(main: Clause, conjunction: tuple[str, str], subordinate: Clause) -> ToyPair:
    """Join two clauses; the words of the second have their own roles."""
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
    """Put the role before the part of speech, which tells the nouns of two objects apart."""
    return [(word, f"{role} {part}") for word, part in words]


def _pair(english: list[Word], german: list[Word]) -> ToyPair:
    """Link the words with the same part."""
    links = {
        (i, j) for i, (_, part) in enumerate(english) for j, (_, same) in enumerate(german) if part == same
    }
    source, target = (" ".join(word for word, _ in words) for words in (english, german))
    return ToyPair(source, target, frozenset(links))
