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


def _pairs(listed: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a list."""
    return tuple((english, german) for english, german in (pair.split() for pair in listed.split(",")))


WORD_PAIRS = _pairs(_LIST)


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
    r"""Return the orthogonal $R$ for which $\lVert AR - B \rVert$ is smallest.

    $A$ is `source` and $B$ is `target` (Schönemann, 1966). Such a map changes
    no length and no angle between the rows.
    """
    left, _, right = torch.linalg.svd(source.T @ target)
    return left @ right
