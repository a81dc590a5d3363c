"""The words of a text in any language, to count them and to compare sentences: the chapter on tokens."""

import unicodedata

import regex  # has the scripts and classes of Unicode, which `re` lacks

# Scripts without spaces between words, with the Japanese signs for voiced consonants and long vowels.
HAN = r"\p{Han}"
ALPHABETS = (
    r"\p{Hiragana}\p{Katakana}\u3099\u309a\u30fc\uff70\uff9e\uff9f"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
)
UNSPACED_WORD = regex.compile(rf"[{HAN}]{{1,2}}|[{ALPHABETS}]{{1,5}}")  # about a word

IGNORED = regex.compile(r"[\p{Default_Ignorable_Code_Point}\u0640]")  # invisible, or stretches Arabic letters
# Thai and Lao AM, radicals of Chinese characters, contextual forms of Arabic letters, other widths.
COMPATIBLE = regex.compile(r"[\u0e33\u0eb3\u2e80-\u2fdf\ufb50-\ufdff\ufe70-\ufefc\uff01-\uffee]+")
WORD = regex.compile(r"(?V1)[[\w\p{N}]--[\u02bb\u02bc]]+")  # without the two letters that are apostrophes
SYMBOL = regex.compile(r"\p{S}")  # emoji, say
OPTIONAL_SPACE = regex.compile(rf"(?<=[{HAN}{ALPHABETS}]) | (?=[{HAN}{ALPHABETS}])")


def count_words(text: str) -> int:
    """Return the number of words between spaces, estimated for languages that are written without these.

    Up to two Chinese characters in a row count as a word. So do up to five characters of the Japanese
    syllabaries, or of Thai, Lao, Khmer, Burmese, or Tibetan.
    """
    spaced = IGNORED.sub("", text.replace("\u200b", " "))  # the zero-width space
    return len(UNSPACED_WORD.sub(" word ", spaced).split())


def normalized_words(text: str) -> str:
    """Return the words of a text, to compare sentences without regard to case and punctuation.

    Invisible characters do not matter either, nor do Unicode's composed and decomposed forms, nor the width
    of letters, nor spaces in languages that are written without these. Words keep their combining marks,
    such as vowel signs. If there are no words, the symbols are returned, and if there are none of these,
    the text.
    """
    visible = IGNORED.sub("", text)
    plain = COMPATIBLE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), visible)
    folded = unicodedata.normalize("NFD", plain).casefold()
    folded = folded.replace("i\u0307", "i").replace("\u0131", "i")  # the Turkish letters of I
    folded = unicodedata.normalize("NFC", folded)
    words = WORD.findall(folded) or SYMBOL.findall(folded) or [visible]
    return OPTIONAL_SPACE.sub("", " ".join(words))
