"""Cleaning of sentences, and the decorations around them: the chapter on tokens."""

import re
import unicodedata
from functools import cache

# `re`, the tokenizers library and JavaScript read these patterns alike.
WHITE_SPACE = r"\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
IGNORABLE = (  # Unicode's default ignorable characters without joiners; annotations; marks around a character
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    r"\u20d0-\u20ff\ufe00-\ufe0f\ufeff\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
SCRIPTS = r"\u0600-\u1cff"  # words of Persian, Hindi and others have joiners inside, U+200C and U+200D
INVISIBLE = rf"[{IGNORABLE}\u200c\u200d](?!(?<=[{SCRIPTS}][\u200c\u200d])[{SCRIPTS}])"
LONE_MARKS = rf"(?<![^{WHITE_SPACE}!-/:-@])[\u0300-\u036f]+|[\u0332-\u0338]"  # no letter, or one struck out

# Of all quotation marks, hyphens and the like, one form remains, so that the model sees each of them often.
_COMPATIBLE = (0x2025, 0x2026, 0x203C, 0x2047, 0x2048, 0x2049, *range(0xFB00, 0xFB07), *range(0xFF01, 0xFF5F))
VARIANTS = {chr(code): unicodedata.normalize("NFKC", chr(code)) for code in _COMPATIBLE if code != 0xFF0D}
_PLAIN = {"'": "‘’‚‛‹›′´ʼ", '"': "“”„‟«»″〝〞", "-": "‐‑‒−﹣", ".": "。｡", " ": "\u2800\u3164\uffa0"}  # noqa: RUF001
VARIANTS |= {variant: plain for plain, variants in _PLAIN.items() for variant in variants}
_TABLE = str.maketrans(VARIANTS)

# What characters are to `set_aside`: a (letters, digits, signs with a meaning), q (may end a sentence),
# p (other punctuation), b (bullets, dashes, mathematics), e (emoji and other pictures), i (marks, invisible),
# or a space.
SIGNS = {"a": "%‰&@§°©®™№℃℉", "q": ".?!\"'", "b": "*#•‣⁃·–—―", "e": "①②③④⑤⑥⑦⑧⑨❶❷❸❹❺❻❼❽❾"}  # noqa: RUF001
CATEGORIES = {"a": "L N Sc", "b": "Pc Sm", "i": "M Cf", "p": "P", "e": "S C"}  # of Unicode, for all others
_ITEM = r"^[ \u200b-\u206f]*\(?([0-9]{1,2}[.)]|[A-Za-z]\))(?=[ \u00a0]+[^\s\u001c-\u001f\u0085\ufeff])"
LABEL = re.compile(rf"[0-9#*]\ufe0f?\u20e3|{_ITEM}")  # a keycap, or the number of a list's item
SHAPE = re.compile(
    "[ i]*((?:[^a]*[eb ]i*)?)"  # before the sentence
    "(.*ai*)((?:b+(?=[ipq]))?[ipq]*(?: +[iq]+)*)"  # the sentence, and the punctuation at its end
    "((?:[ i]*[^ i]i*)*?)(q*)[ i]*"  # after it, and a stop that follows an emoji
)
PICTURE = re.compile(" ?e[ei]*")


def clean(text: str) -> str:
    """Return `text` in Unicode's composed form (NFC), with plain quotes and hyphens and single spaces.

    White space of any kind, such as a no-break space, becomes a space. Invisible characters are
    removed.
    """
    # Before NFC, because an accent may follow a removed character.
    text = re.sub(INVISIBLE, "", text).translate(_TABLE)
    text = re.sub(LONE_MARKS, "", unicodedata.normalize("NFC", text))
    return " ".join(text.split())


def set_aside(text: str) -> tuple[str, str, str]:
    """Return the decorations before a sentence, the sentence, and the decorations after it.

    Decorations are bullets and dashes at either end, the number of a list's item, emoji and other
    pictures anywhere, and punctuation that stands apart from the sentence, such as ":)". Without a
    letter, a digit or a sign with a meaning, such as "%", there is no sentence: it is empty.
    """
    shape = "".join(map(_kind, LABEL.sub(lambda found: "☆" * len(found[0]), text)))
    if "a" not in shape or not (found := SHAPE.fullmatch(shape)):
        return "", "", text
    before, after, stop = (text[slice(*found.span(group))] for group in (1, 4, 5))
    sentence = text[: found.end(3)]
    if found[3]:
        after += stop
    else:
        sentence += stop
    for picture in reversed([*PICTURE.finditer(shape, *found.span(2))]):
        start, end = picture.span()
        sentence = sentence[:start] + " " * (shape[end] == "a") + sentence[end:]
        after = text[start:end] + after
    return before, sentence[found.start(2) :], after


@cache
def _kind(character: str) -> str:
    """Return the letter, or the space, that stands for a character in a shape."""
    if re.match(f"[{IGNORABLE}]", character):
        return "i"
    plain = VARIANTS.get(character, character)[0]
    if plain.isspace():
        return " "
    category = unicodedata.category(plain)
    names = {category, category[0]}
    of_category = next(kind for kind, those in CATEGORIES.items() if names & {*those.split()})
    return next((kind for kind, signs in SIGNS.items() if plain in signs), of_category)
