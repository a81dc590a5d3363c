"""Contrastive evaluation: is the right translation more likely than one with a single error?

The method is that of Sennrich (2017). It does not depend on how translations are searched for, and a good
translation need not equal a reference: all it takes is two texts, one of which is wrong.
"""

import re
from typing import NamedTuple

# English sentences by us, and their translations; in braces, what is right, then what is wrong.
_LISTS = {
    "gender": """
        The moon is bright tonight. = {Der|Die} Mond ist heute Nacht hell.
        The clock is too slow. = {Die|Der} Uhr geht nach.
        The girl is reading a letter. = {Das|Die} Mädchen liest einen Brief.
        The bridge is very old. = {Die|Das} Brücke ist sehr alt.
        I bought a new table. = Ich habe {einen neuen|eine neue} Tisch gekauft.
        She is wearing a red dress. = Sie trägt {ein rotes|eine rote} Kleid.
        We have a small garden. = Wir haben {einen kleinen|ein kleines} Garten.
        This soup is too hot. = {Diese|Dieses} Suppe ist zu heiß.
    """,
    "verb": """
        My brothers play outside. = Meine Brüder {spielen|spielt} draußen.
        My sister works in a hospital. = Meine Schwester {arbeitet|arbeiten} in einem Krankenhaus.
        You sing very well, my friend. = Du {singst|singe} sehr gut, mein Freund.
        The children are sleeping. = Die Kinder {schlafen|schläft}.
        I know the answer. = Ich {kenne|kennt} die Antwort.
        We are going home. = Wir {gehen|geht} nach Hause.
        The teacher of my children lives here. = Der Lehrer meiner Kinder {wohnt|wohnen} hier.
        Her parents are doctors. = Ihre Eltern {sind|ist} Ärzte.
    """,
    "case": """
        He helps the old man. = Er hilft {dem|den} alten Mann.
        I see the dog. = Ich sehe {den|der} Hund.
        She thanks her mother. = Sie dankt {ihrer|ihre} Mutter.
        We came without the children. = Wir kamen ohne {die|den} Kinder.
        He lives with his brother. = Er wohnt bei {seinem|seinen} Bruder.
        The book is on the table. = Das Buch liegt auf {dem|den} Tisch.
        I am waiting for the bus. = Ich warte auf {den|dem} Bus.
        This is a present for my father. = Das ist ein Geschenk für {meinen|meinem} Vater.
    """,
    "order": """
        I am in bed because I am ill. = Ich liege im Bett, weil ich {krank bin|bin krank}.
        I know that he has a car. = Ich weiß, dass er {ein Auto hat|hat ein Auto}.
        Tomorrow we will visit our aunt. = Morgen {werden wir|wir werden} unsere Tante besuchen.
        Yesterday I bought a book. = Gestern {habe ich|ich habe} ein Buch gekauft.
        When I was young, I lived here. = Als ich {jung war|war jung}, wohnte ich hier.
        I can speak German. = Ich kann {Deutsch sprechen|sprechen Deutsch}.
        She has read the letter. = Sie hat {den Brief gelesen|gelesen den Brief}.
        Do you know where he learns German? = Weißt du, wo er {Deutsch lernt|lernt Deutsch}?
    """,
    "negation": """
        I do not see the dog. = Ich sehe den Hund{ nicht|}.
        He has no time. = Er hat {keine|viel} Zeit.
        She did not come yesterday. = Sie ist gestern {nicht |}gekommen.
        We have never been in Berlin. = Wir waren {noch nie|schon} in Berlin.
        Nobody believes him. = {Niemand|Jeder} glaubt ihm.
        I cannot swim. = Ich kann {nicht |}schwimmen.
        There is nothing in the box. = In der Kiste ist {nichts|etwas}.
        I have a brother, but no sister. = Ich habe einen Bruder, aber {keine|eine} Schwester.
    """,
    "roles": """
        Peter loves Maria. = {Peter|Maria} liebt {Maria|Peter}.
        The dog bit the cat. = {Der Hund|Die Katze} hat {die Katze|den Hund} gebissen.
        My father helped your mother. = {Mein Vater|Deine Mutter} half {deiner Mutter|meinem Vater}.
        The boy is older than the girl. = {Der Junge|Das Mädchen} ist älter als {das Mädchen|der Junge}.
        I gave him my book. = {Ich gab ihm mein|Er gab mir sein} Buch.
        She knows us. = {Sie kennt uns|Wir kennen sie}.
        Anna is waiting for Paul. = {Anna|Paul} wartet auf {Paul|Anna}.
        They did not invite me. = {Sie haben mich|Ich habe sie} nicht eingeladen.
    """,
    "pronoun": """
        I have a lamp, but it is broken. = Ich habe eine Lampe, aber {sie|er} ist kaputt.
        The spoon is dirty because it fell down. = Der Löffel ist schmutzig, weil {er|sie} herunterfiel.
        I read the letter, and then I burned it. = Ich las den Brief, und dann verbrannte ich {ihn|sie}.
        Where is the newspaper? I need it. = Wo ist die Zeitung? Ich brauche {sie|ihn}.
        Take the key and put it on the table. = Nimm den Schlüssel und leg {ihn|sie} auf den Tisch.
        The car is old, but it is still good. = Das Auto ist alt, aber {es|er} ist noch gut.
        My coat is warm, but it is too long. = Mein Mantel ist warm, aber {er|sie} ist zu lang.
        The door is open. Please close it. = Die Tür ist offen. Mach {sie|ihn} bitte zu.
    """,
    "number": """
        The ticket costs 35 euros. = Die Fahrkarte kostet {35|53} Euro.
        He was born in 1987. = Er wurde {1987|1978} geboren.
        The train leaves at six. = Der Zug fährt um {sechs|sieben} Uhr ab.
        I have two sisters and three brothers. = Ich habe {zwei|drei} Schwestern und {drei|zwei} Brüder.
        She is 24 years old. = Sie ist {24|42} Jahre alt.
        We waited for half an hour. = Wir haben {eine halbe Stunde|anderthalb Stunden} gewartet.
        There are 12 eggs in the box. = In der Kiste sind {12|10} Eier.
        The shop is open from nine to five. = Das Geschäft ist von {neun bis fünf|fünf bis neun} geöffnet.
    """,
}
BRACES = re.compile(r"\{(.*?)\|(.*?)\}")


class Contrast(NamedTuple):
    """An English sentence, its translation, and the same translation with one error of the given kind."""

    kind: str
    source: str
    right: str
    wrong: str


def read_contrasts(kind: str, text: str) -> list[Contrast]:
    """Return the contrasts of a list: one per line, as `source = a translation, {this|that} one`."""
    lines = [line.split(" = ") for line in text.strip().splitlines()]
    return [
        Contrast(kind, source.strip(), BRACES.sub(r"\1", target), BRACES.sub(r"\2", target))
        for source, target in lines
    ]


CONTRASTS: tuple[Contrast, ...] = tuple(
    contrast for kind, text in _LISTS.items() for contrast in read_contrasts(kind, text)
)
