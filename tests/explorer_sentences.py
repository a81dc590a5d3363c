"""Sentences to translate, built from a few words, and strings of unusual characters to encode."""

import itertools
import random

ENGLISH = (
    ("The man", "She", "My sister", "The dog", "Nobody", "He", "Tom", "You"),
    ("sees", "bought", "needs", "forgot", "didn't like", "will read", "can find"),
    ("the red car.", "two books.", "a letter.", "the city.", "it!", "3 apples.", "my name?"),
)
GERMAN = (
    ("Der Mann", "Sie", "Ein Mädchen", "Der Hund", "Niemand", "Er", "Tom"),
    ("sieht", "kaufte", "sucht", "braucht", "mag", "liest", "findet", "schließt"),
    ("das Auto.", "zwei Bücher.", "einen Brief.", "die Stadt.", "es!", "3 Äpfel.", "ihn?"),
)
OTHERS = {  # the first of each needs the length penalty: without it, another translation ranks first
    "en-de": ["He bought the red car.", "“Why?” she said, because he had asked for it.", "Hi.", "zzz qqq"],
    "de-en": ["Der Hund liest es!", "„Warum?“, fragte sie, weil er darum gebeten hatte.", "Ja.", "zzz"],
}
CHARACTERS = "".join(
    (
        "aeinst ÄÖÜäöüß ÉéÅå 0123456789 .,;:!?-–—()[]{}<>/\\@#$%&*+='\"`´^~_| ",  # noqa: RUF001
        "‘’‚„“”‟«» \u00ad\u200b\u2060\ufeff ",  # noqa: RUF001
        "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000 \x00 \x07 \x7f ",
        "e\u0301 a\u0308 \u1e9e \u0130 ﬁ ² ½ Ⅻ ٣ १ Ω ж Я א ع 中 文 日本 한글 ไทย ",
        "\u200c\u200d\u200e\ufe0f\u20e3\u0336 ن ی क ☀ ♪ • ① → … ‑ １ ！ 。 \u3164 \u2800 \U000e0041 \ue000",  # noqa: RUF001
        "😀 👩\u200d👩\u200d👧 🇩🇪 \U0001d4d0",
    )
)
PIECES = (
    *("'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "<eos>", "<pad>", "<unk>", "  ", "don't", "I'd"),
    *("sss", "eeeee", "...", "!!!!!", "ooo", "lll"),
)


def sentences(direction: str, count: int) -> list[str]:
    """Return `count` source sentences: OTHERS, then a random sample of the word combinations."""
    parts = ENGLISH if direction == "en-de" else GERMAN
    made = [" ".join(words) for words in itertools.product(*parts)]
    made = [text for text in made if text not in OTHERS[direction]]
    return [*OTHERS[direction], *random.Random(0).sample(made, count - len(OTHERS[direction]))]


def strings(count: int) -> list[str]:
    """Return `count` strings of up to 30 pieces: letters of many scripts, marks, whitespace, and endings."""
    draw = random.Random(0)
    pieces = [*CHARACTERS, *PIECES]
    return ["".join(draw.choices(pieces, k=draw.randint(0, 30))) for _ in range(count)]
