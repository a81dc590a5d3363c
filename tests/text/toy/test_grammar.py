"""The grammar of the toy language: correct German, written out by hand, and word alignments."""

import pytest

from annotated_transformer.text.toy import lexicon as lexicon
from annotated_transformer.text.toy.grammar import Clause, ToyPair, because, statement, that
from annotated_transformer.text.toy.words import NounPhrase, Pronoun

PRONOUNS = {pronoun.word: pronoun for pronoun in lexicon.PRONOUNS}
ADJECTIVES, ADVERBS = dict(lexicon.ADJECTIVES), dict(lexicon.ADVERBS)
NOUNS = {
    word: (noun, plural)
    for noun in lexicon.ANIMALS_AND_PEOPLE + lexicon.THINGS
    for word, plural in ((noun.english, False), (noun.english_plural, True))
}
KINDS = ("INTRANSITIVE", "WITH_ACCUSATIVE", "WITH_DATIVE", "WITH_BOTH", "WITH_THAT")
VERBS = {form: verb for kind in KINDS for verb in getattr(lexicon, kind) for form in (verb.base, verb.with_s)}


def phrase(text: str) -> NounPhrase | Pronoun:
    if text in PRONOUNS:
        return PRONOUNS[text]
    determiner, *adjective, word = text.split()
    noun, plural = NOUNS[word]
    described = (adjective[0], ADJECTIVES[adjective[0]]) if adjective else None
    return NounPhrase("a" if determiner == "an" else determiner, described, noun, plural)


def clause(text: str) -> Clause:
    subject, verb, *objects = (part.strip() for part in text.split("|"))
    return Clause(phrase(subject), VERBS[verb], tuple(phrase(thing) for thing in objects))


def sentence(text: str) -> ToyPair:
    """Return the pair for a text of one or two clauses whose parts are separated by bars."""
    main, that_word, reported = text.partition(" that ")
    if that_word:
        speech = clause(main)
        return that(speech.subject, speech.verb, clause(reported))
    main, because_word, reason = text.partition(" because ")
    if because_word:
        return because(clause(main), clause(reason))
    first, _, rest = text.partition(" | ")
    if first in ADVERBS:
        return statement((first, ADVERBS[first]), clause(rest))
    return statement(None, clause(text))


SENTENCES = """
I | sleep                               = ich schlafe
I | wait                                = ich warte
she | waits                             = sie wartet
the dogs | sleep                        = die Hunde schlafen
the old mice | sing                     = die alten Mäuse singen
an old horse | sleeps                   = ein altes Pferd schläft
a big bird | sings                      = ein großer Vogel singt
a small cat | sleeps                    = eine kleine Katze schläft
I | arrive                              = ich komme an
my birds | arrive                       = meine Vögel kommen an
the child | leaves                      = das Kind geht weg
we | leave                              = wir gehen weg
today | the man | arrives               = heute kommt der Mann an
now | I | leave                         = jetzt gehe ich weg
the woman | loves | the small cat       = die Frau liebt die kleine Katze
the child | visits | the old man        = das Kind besucht den alten Mann
I | see | an old bird                   = ich sehe einen alten Vogel
I | love | a beautiful girl             = ich liebe ein schönes Mädchen
my dogs | love | my children            = meine Hunde lieben meine Kinder
we | visit | my old mouse               = wir besuchen meine alte Maus
I | call | the men                      = ich rufe die Männer an
we | call | a child                     = wir rufen ein Kind an
I | invite | a child                    = ich lade ein Kind ein
she | invites | my small bird           = sie lädt meinen kleinen Vogel ein
the girls | invite | the women          = die Mädchen laden die Frauen ein
the girl | fetches | the big horse      = das Mädchen holt das große Pferd ab
I | fetch | a mouse                     = ich hole eine Maus ab
I | help | the small dog                = ich helfe dem kleinen Hund
we | help | a small child               = wir helfen einem kleinen Kind
she | thanks | the men                  = sie dankt den Männern
we | thank | my beautiful women         = wir danken meinen schönen Frauen
the horses | follow | the old birds     = die Pferde folgen den alten Vögeln
a cat | follows | a mouse               = eine Katze folgt einer Maus
I | follow | my girls                   = ich folge meinen Mädchen
the cat | watches | my mice             = die Katze schaut meinen Mäusen zu
I | watch | an old woman                = ich schaue einer alten Frau zu
she | shows | a dog | the flowers       = sie zeigt einem Hund die Blumen
we | show | the children | my balls     = wir zeigen den Kindern meine Bälle
the women | bring | the horses | the books = die Frauen bringen den Pferden die Bücher
the cat | brings | the cats | a flower  = die Katze bringt den Katzen eine Blume
I | bring | a girl | a small ball       = ich bringe einem Mädchen einen kleinen Ball
often | I | help | the old woman        = oft helfe ich der alten Frau
now | the woman | calls | the man       = jetzt ruft die Frau den Mann an
here | the dogs | follow | a big cat    = hier folgen die Hunde einer großen Katze
sometimes | we | watch | the birds      = manchmal schauen wir den Vögeln zu
today | she | gives | my dog | a ball   = heute gibt sie meinem Hund einen Ball
I | know that the dog | sleeps          = ich weiß , dass der Hund schläft
she | knows that we | arrive            = sie weiß , dass wir ankommen
we | know that I | leave                = wir wissen , dass ich weggehe
the man | says that the child | sees | a small horse = der Mann sagt , dass das Kind ein kleines Pferd sieht
I | hope that the woman | invites | the old men = ich hoffe , dass die Frau die alten Männer einlädt
the children | hope that I | call | the cat = die Kinder hoffen , dass ich die Katze anrufe
the girl | believes that she | watches | the mouse = das Mädchen glaubt , dass sie der Maus zuschaut
we | believe that the man | gives | the birds | a book = wir glauben , dass der Mann den Vögeln ein Buch gibt
I | say that the girls | fetch | my dog = ich sage , dass die Mädchen meinen Hund abholen
she | hopes that we | wait              = sie hofft , dass wir warten
the bird | arrives because the old cat | leaves = der Vogel kommt an , weil die alte Katze weggeht
she | helps | a man because the girls | wait = sie hilft einem Mann , weil die Mädchen warten
I | give | a child | my book because my cats | sing = ich gebe einem Kind mein Buch , weil meine Katzen singen
"""
ROWS = [[side.strip() for side in line.split(" = ")] for line in SENTENCES.splitlines() if line]


@pytest.mark.parametrize(("english", "german"), ROWS)
def test_oracle_a_sentence_is_the_one_written_by_hand(english: str, german: str):
    pair = sentence(english)
    assert pair.source == english.replace(" | ", " ")
    assert pair.target == german


def test_law_the_written_sentences_use_every_word():
    pairs = [sentence(english) for english, _ in ROWS]
    words = {word for pair in pairs for word in pair.source.split()}
    assert words >= set(NOUNS) | set(PRONOUNS) | set(ADJECTIVES) | set(ADVERBS) | set(VERBS)
    german = {word for pair in pairs for word in pair.target.split()}
    assert german >= {verb.particle for verb in VERBS.values() if verb.particle}


# After each German word, the index of the English word that it is aligned with.
LINKS = """
the man | sleeps                           = der/0 Mann/1 schläft/2
today | the man | calls | my cats          = heute/0 ruft/3 der/1 Mann/2 meine/4 Katzen/5 an/3
I | invite | a child                       = ich/0 lade/1 ein/2 Kind/3 ein/1
we | show | the men | the balls            = wir/0 zeigen/1 den/2 Männern/3 die/4 Bälle/5
she | knows that I | invite | a big dog    = sie/0 weiß/1 ,/2 dass/2 ich/3 einen/5 großen/6 Hund/7 einlade/4
the man | arrives because the man | sleeps = der/0 Mann/1 kommt/2 an/2 ,/3 weil/3 der/4 Mann/5 schläft/6
"""


@pytest.mark.parametrize("line", LINKS.strip().splitlines())
def test_oracle_alignments_match_those_written_by_hand(line: str):
    english, german = line.split(" = ")
    pair = sentence(english.strip())
    words, places = zip(*(word.split("/") for word in german.split()), strict=True)
    assert pair.target.split() == list(words)
    assert pair.alignment == {(int(place), j) for j, place in enumerate(places)}
