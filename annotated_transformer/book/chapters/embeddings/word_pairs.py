"""English–German word pairs, and the orthogonal map from one language to the other."""

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.text.tokenizer import Tokenizer

# Everyday words, chosen by us. Each is one token of the shipped models' vocabulary, and occurs in one pair.
_LIST = """
    dog Hund, cat Katze, horse Pferd, bird Vogel, fish Fisch, house Haus, door Tür, window Fenster,
    room Zimmer, table Tisch, chair Stuhl, bed Bett, garden Garten, kitchen Küche, school Schule,
    teacher Lehrer, book Buch, letter Brief, newspaper Zeitung, word Wort, sentence Satz, question
    Frage, answer Antwort, story Geschichte, song Lied, music Musik, picture Bild, car Auto, train
    Zug, bus Bus, ship Schiff, plane Flugzeug, bicycle Fahrrad, street Straße, city Stadt, village
    Dorf, country Land, world Welt, sea Meer, lake See, river Fluss, mountain Berg, tree Baum,
    flowers Blumen, sun Sonne, sky Himmel, rain Regen, snow Schnee, wind Wind, weather Wetter, fire
    Feuer, water Wasser, milk Milch, coffee Kaffee, tea Tee, wine Wein, beer Bier, bread Brot, meat
    Fleisch, eggs Eier, apple Apfel, sugar Zucker, salt Salz, money Geld, time Zeit, year Jahr,
    month Monat, week Woche, day Tag, night Nacht, hour Stunde, today heute, yesterday gestern,
    tomorrow morgen, now jetzt, never nie, always immer, often oft, here hier, there dort, Monday
    Montag, Sunday Sonntag, two zwei, three drei, four vier, five fünf, six sechs, seven sieben,
    eight acht, nine neun, ten zehn, hundred hundert, man Mann, woman Frau, child Kind, children
    Kinder, boy Junge, girl Mädchen, father Vater, mother Mutter, brother Bruder, sister Schwester,
    son Sohn, daughter Tochter, friend Freund, friends Freunde, doctor Arzt, police Polizei, hand
    Hand, hands Hände, head Kopf, hair Haar, eyes Augen, face Gesicht, heart Herz, blood Blut, red
    rot, green grün, black schwarz, white weiß, good gut, bad schlecht, big groß, small klein, old
    alt, young jung, new neu, long lang, short kurz, hot heiß, cold kalt, rich reich, poor arm,
    strong stark, happy glücklich, sad traurig, tired müde, sick krank, hungry hungrig, beautiful
    schön, expensive teuer, easy leicht, difficult schwierig, important wichtig, possible möglich,
    true wahr, wrong falsch, dangerous gefährlich, and und, or oder, but aber, not nicht, because
    weil, if wenn, with mit, without ohne, for für, under unter, between zwischen, I ich, you du, he
    er, we wir, me mich, him ihn, who wer, where wo, when wann, why warum, how wie, is ist, eat
    essen, drink trinken, sleep schlafen, read lesen, write schreiben, speak sprechen, sing singen,
    swim schwimmen, dance tanzen, work arbeiten, buy kaufen, sell verkaufen, play spielen, learn
    lernen, find finden, see sehen, hear hören, come kommen, go gehen, stay bleiben, wait warten,
    think denken, forget vergessen, die sterben, live leben, open öffnen, show zeigen, pay bezahlen,
    language Sprache, French Französisch, English Englisch, life Leben, death Tod, truth Wahrheit,
    problem Problem, idea Idee, plan Plan, mistake Fehler, secret Geheimnis, dream Traum, key
    Schlüssel, umbrella Regenschirm, shoes Schuhe, coat Mantel, dress Kleid, church Kirche, hospital
    Krankenhaus, hotel Hotel, office Büro, airport Flughafen, station Bahnhof, bridge Brücke, box
    Kiste, glass Glas, knife Messer, paper Papier, computer Computer, telephone Telefon, summer
    Sommer, winter Winter, birthday Geburtstag, party Party, game Spiel, piano Klavier, guitar
    Gitarre
"""

# Others, each one token, too, as a control for that choice: inflected forms, function words, and more nouns.
_OTHERS = """
    animals Tiere, mouth Mund, ear Ohr, eye Auge, back Rücken, name Name, men Männer, uncle Onkel,
    grandmother Großmutter, grandfather Großvater, baby Baby, boss Chef, lawyer Anwalt, policeman
    Polizist, singer Sänger, girlfriend Freundin, shirt Hemd, suit Anzug, tie Krawatte, bag Tasche,
    suitcase Koffer, wall Wand, floor Boden, library Bibliothek, store Laden, building Gebäude,
    class Klasse, test Prüfung, beach Strand, island Insel, wood Wald, air Luft, storm Sturm,
    parents Eltern, cake Kuchen, fruit Obst, vegetables Gemüse, breakfast Frühstück, bottle Flasche,
    cup Tasse, evening Abend, morning Morgen, moment Moment, weeks Wochen, beginning Anfang, twenty
    zwanzig, twice zweimal, camera Kamera, cars Autos, card Karte, cards Karten, trip Reise, news
    Nachrichten, books Bücher, dictionary Wörterbuch, list Liste, minutes Minuten, price Preis,
    business Geschäft, war Krieg, hope Hoffnung, courage Mut, interest Interesse, success Erfolg,
    difference Unterschied, situation Situation, information Information, advice Rat, gift Geschenk,
    offer Angebot, choice Wahl, concert Konzert, soccer Fußball, baseball Baseball, golf Golf, team
    Mannschaft, ball Ball, quiet ruhig, fast schnell, slowly langsam, full voll, drunk betrunken,
    awake wach, alone allein, together zusammen, famous berühmt, angry wütend, nervous nervös, crazy
    verrückt, smart klug, interesting interessant, certain bestimmt, clear klar, ready bereit, free
    frei, high hoch, better besser, best beste, worse schlechter, later später, sometimes manchmal,
    still noch, again wieder, immediately sofort, suddenly plötzlich, probably wahrscheinlich,
    really wirklich, only nur, enough genug, outside draußen, behind hinter, before vor, after nach,
    until bis, through durch, everything alles, nothing nichts, something etwas, someone jemand,
    everyone jeder, some einige, his sein, your dein, us uns, she sie, what was, know wissen,
    understand verstehen, want wollen, need brauchen, can können, should sollte, would würde, kiss
    küssen, marry heiraten, laugh lachen, sit sitzen, lie liegen, fly fliegen, leave verlassen,
    arrive ankommen, stop aufhören, do tun, give geben, take nehmen, pull ziehen, close schließen,
    smoke rauchen, win gewinnen, save retten, say sagen, tell erzählen, ask fragen, change ändern,
    translate übersetzen, study studieren, call anrufen, follow folgen, trust vertrauen, happen
    passieren, seem scheinen, borrow leihen, had hatte, were waren, are sind, came kam, knew wusste,
    thought dachte, gave gab, heard hörte, ran rannte, sat saß, slept schlief, died starb, asked
    fragte, bought kaufte, wrote schrieb, became wurde, lost verlor, brought brachte, stayed blieb,
    Germany Deutschland, America Amerika, Japanese Japanisch, Tokyo Tokio, Christmas Weihnachten
"""


def _pairs(listed: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a list."""
    return tuple((english, german) for english, german in (pair.split() for pair in listed.split(",")))


WORD_PAIRS, OTHER_WORD_PAIRS = _pairs(_LIST), _pairs(_OTHERS)


def token_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the id of each token that begins a word, by its text without the leading space."""
    tokens = tokenizer.tokens(list(range(tokenizer.vocab_size)))
    begins = {token[1:]: id_ for id_, token in reversed(list(enumerate(tokens))) if token[:1] == " "}
    return {word: id_ for word, id_ in begins.items() if word and "\ufffd" not in word}


def unit_rows(vectors: Float[Tensor, "words d_model"]) -> Float[Tensor, "words d_model"]:
    """Divide each row by its length, so that dot products become cosines."""
    return vectors / vectors.norm(dim=1, keepdim=True)


def orthogonal_map(
    source: Float[Tensor, "words d_model"], target: Float[Tensor, "words d_model"]
) -> Float[Tensor, "d_model d_model"]:
    r"""Return the orthogonal $R$ for which $\lVert AR - B \rVert$ is smallest (Schönemann, 1966).

    $A$ is `source` and $B$ is `target`. Such a map changes no length and no angle between the rows.
    """
    left, _, right = torch.linalg.svd(source.T @ target)
    return left @ right
