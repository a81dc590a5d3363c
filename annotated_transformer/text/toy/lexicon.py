"""The nouns, adjectives, verbs and adverbs of the toy language."""

from annotated_transformer.text.toy.words import Case, Determiner, Noun, NounPhrase, Pronoun, Verb

ANIMALS_AND_PEOPLE = (
    Noun("man", "men", "Mann", "Männer", "masculine"),
    Noun("dog", "dogs", "Hund", "Hunde", "masculine"),
    Noun("bird", "birds", "Vogel", "Vögel", "masculine"),
    Noun("woman", "women", "Frau", "Frauen", "feminine"),
    Noun("cat", "cats", "Katze", "Katzen", "feminine"),
    Noun("mouse", "mice", "Maus", "Mäuse", "feminine"),
    Noun("child", "children", "Kind", "Kinder", "neuter"),
    Noun("girl", "girls", "Mädchen", "Mädchen", "neuter"),
    Noun("horse", "horses", "Pferd", "Pferde", "neuter"),
)
THINGS = (
    Noun("ball", "balls", "Ball", "Bälle", "masculine"),
    Noun("flower", "flowers", "Blume", "Blumen", "feminine"),
    Noun("book", "books", "Buch", "Bücher", "neuter"),
)
PRONOUNS = (
    Pronoun("I", "ich", "first"),
    Pronoun("she", "sie", "third"),
    Pronoun("we", "wir", "plural"),
)
ADJECTIVES = (("small", "klein"), ("big", "groß"), ("old", "alt"), ("beautiful", "schön"))
ADVERBS = (
    ("today", "heute"),
    ("now", "jetzt"),
    ("often", "oft"),
    ("sometimes", "manchmal"),
    ("here", "hier"),
)


def _verbs(table: str, *cases: Case) -> tuple[Verb, ...]:
    """Read one verb per line: English base and -s form; German forms of ich, sie and wir; its particle."""
    verbs = []
    for line in table.strip().splitlines():
        base, with_s, first, third, plural, *particle = line.split()
        verbs.append(Verb(base, with_s, first, third, plural, "".join(particle), cases))
    return tuple(verbs)


INTRANSITIVE = _verbs(
    """
    sleep   sleeps    schlafe  schläft  schlafen
    wait    waits     warte    wartet   warten
    sing    sings     singe    singt    singen
    arrive  arrives   komme    kommt    kommen    an
    leave   leaves    gehe     geht     gehen     weg
    """
)
WITH_ACCUSATIVE = _verbs(
    """
    see     sees      sehe     sieht    sehen
    love    loves     liebe    liebt    lieben
    visit   visits    besuche  besucht  besuchen
    call    calls     rufe     ruft     rufen     an
    invite  invites   lade     lädt     laden     ein
    fetch   fetches   hole     holt     holen     ab
    """,
    "accusative",
)
WITH_DATIVE = _verbs(
    """
    help    helps     helfe    hilft    helfen
    thank   thanks    danke    dankt    danken
    follow  follows   folge    folgt    folgen
    watch   watches   schaue   schaut   schauen   zu
    """,
    "dative",
)
WITH_BOTH = _verbs(
    """
    give    gives     gebe     gibt     geben
    show    shows     zeige    zeigt    zeigen
    bring   brings    bringe   bringt   bringen
    """,
    "dative",
    "accusative",
)
WITH_THAT = _verbs(
    """
    know    knows     weiß     weiß     wissen
    say     says      sage     sagt     sagen
    hope    hopes     hoffe    hofft    hoffen
    believe believes  glaube   glaubt   glauben
    """
)


def phrases(
    nouns: tuple[Noun, ...], adjectives: tuple[tuple[str, str] | None, ...]
) -> tuple[NounPhrase, ...]:
    """Return every noun phrase with these nouns and adjectives; None means no adjective."""
    determiners: tuple[tuple[Determiner, bool], ...] = (
        ("the", False),
        ("the", True),
        ("a", False),
        ("my", False),
        ("my", True),
    )
    return tuple(
        NounPhrase(determiner, adjective, noun, plural)
        for determiner, plural in determiners
        for adjective in adjectives
        for noun in nouns
    )
