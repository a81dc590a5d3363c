"""Cleaning of sentences, and the decorations around them: the chapter on tokens."""

import re
import unicodedata
from functools import cache

# `re`, the tokenizers library and JavaScript read these patterns alike.
WHITE_SPACE = r"\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
IGNORABLE = (  # Unicode's default ignorable characters without joiners, annotations, frames, non-characters
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    r"\u20d0-\u20ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
SCRIPTS = r"\u0600-\u1cff"  # words of Persian, Hindi and others have joiners inside, U+200C and U+200D
INVISIBLE = rf"[{IGNORABLE}\u200c\u200d](?!(?<=[{SCRIPTS}][\u200c\u200d])[{SCRIPTS}])"
LONE_MARKS = rf"(?<![^{WHITE_SPACE}!-/:-@])[\u0300-\u036f]+|[\u0332-\u0338]"  # no letter, or one struck out

# Of quotation marks, hyphens, styles of a letter and the like, one form remains, which the model sees often.
_STYLED = [  # letters of mathematics, some of which stand among other signs
    code
    for code in (*range(0x2102, 0x2135), *range(0x1D400, 0x1D800))
    if unicodedata.decomposition(chr(code)).startswith("<font>")
]
_COMPATIBLE = (0x17F, 0x2025, 0x2026, 0x203C, 0x2047, 0x2048, 0x2049, *range(0x2160, 0x2180), *_STYLED)
_COMPATIBLE += (*range(0xFB00, 0xFB07), *range(0xFF01, 0xFF0D), *range(0xFF0E, 0xFF5F))
VARIANTS = {chr(code): unicodedata.normalize("NFKC", chr(code)) for code in _COMPATIBLE}
VARIANTS = {variant: plain for variant, plain in VARIANTS.items() if plain.isascii()}
_PLAIN = {"'": "‘’‚‛‹›′´ʼ", '"': "“”„‟«»″〝〞", "-": "‐‑‒−﹣", ".": "。｡", " ": "\u2800\u3164\uffa0"}  # noqa: RUF001
VARIANTS |= {"℃": "°C", "℉": "°F"}
VARIANTS |= {variant: plain for plain, variants in _PLAIN.items() for variant in variants}
_TABLE = str.maketrans(VARIANTS)

# What characters are to `set_aside`: a (letters, digits), s (signs with a meaning), q (may end a sentence),
# p (other punctuation), b (bullets, dashes, mathematics), e (emoji and other pictures), i (marks, invisible),
# or a space. Characters that are not in SIGNS are what their category of Unicode says.
SIGNS = {"s": "%‰&@§°©®™№", "q": ".?!\"'", "b": "*#•‣⁃·–—―", "e": "ℹ①②③④⑤⑥⑦⑧⑨❶❷❸❹❺❻❼❽❾"}  # noqa: RUF001
CATEGORIES = {"a": "L N", "s": "Sc", "b": "Pc Sm", "i": "M Cf", "p": "P", "e": "S C"}
_ITEM = (  # the number of a list's item
    r"^[ \u200b-\u206f]*(\(?([0-9]{1,2}[.)]|[A-Za-z]\))|\[[0-9]{1,3}\])"
    r"(?=[ \u00a0]+[^\s\u001c-\u001f\u0085\ufeff])"
)
_NOTE = r"(?<=[^ \u00a0])\[[0-9]{1,3}\]"  # behind a word
_EMOTICON = r"([:;]-?[DPpOo]|[xX]D+|<3+)"
_EMOTICONS = (  # at the end, where no letter or digit follows
    rf"(?<=[^0-9][ \u00a0]){_EMOTICON}([ \u00a0]+{_EMOTICON})*"
    r"(?=[^A-Za-z0-9\u00c0-\u1fff\u3040-\ud7ff]*$)"
)
LABEL = re.compile(rf"[0-9#*]\ufe0f?\u20e3|{_ITEM}|{_NOTE}|{_EMOTICONS}")  # the first: a keycap
SHAPE = re.compile(
    "[ i]*((?:[^a]*[eb ]i*)?)"  # before the sentence
    "(.*ai*)((?:b+(?=[ipq]))?[ipq]*(?: +[iq]+)*)"  # the sentence, and the punctuation at its end
    "((?:[ i]*[^ i]i*)*?)(q*)[ i]*"  # after it, and a stop that follows an emoji
)
PICTURE = re.compile(" ?e[ei]*")
ENCLOSED = re.compile(r"\(([^()]*)\)([.?!]*)")


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
    pictures anywhere, punctuation that stands apart from the sentence, such as ":)", and parentheses
    around all of it. Without a letter or a digit, there is no sentence: it is empty.
    """
    shape = "".join(map(_kind, LABEL.sub(lambda match: "☆" * len(match[0]), text)))
    if "a" not in shape:
        return "", "", text
    shape = shape.replace("s", "a")
    if not (match := SHAPE.fullmatch(shape)):
        return "", "", text
    before, after, stop = (text[slice(*match.span(group))] for group in (1, 4, 5))
    sentence = text[: match.end(3)]
    if match[3]:
        after += stop
    else:
        sentence += stop
    for picture in reversed([*PICTURE.finditer(shape, *match.span(2))]):
        start, end = picture.span()
        sentence = sentence[:start] + " " * (shape[end] == "a") + sentence[end:]
        after = text[start:end] + after
    sentence = sentence[match.start(2) :]
    if enclosed := ENCLOSED.fullmatch(sentence):
        before, sentence, after = f"{before}(", enclosed[1] + enclosed[2], f"){after}"
    return before, sentence, after


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
