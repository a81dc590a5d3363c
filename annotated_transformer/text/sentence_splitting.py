"""Splitting of a long text into sentences, which is what the models translate: the chapter on decoding."""

import re
from itertools import accumulate, pairwise

from annotated_transformer.text.cleaning import set_aside

# Here, sentencex ends a sentence. It goes on, unless a word of STARTS follows.
UNFINISHED = {
    "en": r"\b(Ms|Mx|Cpt|[Vv]ols?|[Cc]h|[Ff]igs|[Aa]pprox|[Ee]ds?|Eq|[Tt]el|incl|Mon|Tues?|Wed|Thu|Fri)\."
    r"|\b[IVXLC]{2,}\.(?=\s+[a-z])"  # regnal numbers
    r"|[.?!][\"”](?=\s+[A-Z]\w+\s+(said|asked|answered|replied|cried|shouted|whispered|added)\b)",
    "de": r"\b(Abb|Abs|Allg|Aufl|Bd|[Bb]es|bspw|bzw|Dez|ebd|eigtl|entspr|etw|evtl|exkl|Fa|Fam|Frl|geb|gegr"
    r"|gest|Hl|Hrn|Hrsg|Ing|[Ii]nkl|[Ii]nsb|Jh|Kap|[Mm]ax|Nrn|Okt|Red|Tel|Tsd|vorm|Ziff|[Zz]zgl)\."
    r"|\b([Aa]m|[Ii]m|[Vv]om|[Zz]u[mr]|[Bb]eim|ins|ans|[Dd](er|ie|as|en|em|es)|\w{5,}s"  # and an ordinal
    r"|([KkMmDdSs]?ein|[Ii]hr|[Uu]nse?r|[Ee]u?e?r|[Jj]ed|[Jj]en|[Dd]ies|[Ww]elch)(e[mnrs]?)?"
    r"|\d\.?,?( und| oder| bis)?)\s+\d{1,3}\."
    r"|(?<![\w.,:])\d{1,3}\.(?=\s+(Jahrhundert|Weltkrieg|Stock|Etage|Klasse|Liga|Bundesliga|Geburtstag|Mal)\b)",
}
STARTS = {
    "en": r"He|She|It|We|They|I|You|The|This|That|There|Then|And|But|So|What|Who|How|Is|Are|Do|Yes|No",
    "de": r"Er|Sie|Es|Ich|Du|Wir|Man|D(as|er|ie|en|em|ann|anach|ort|och|enn|ies\w*)|Eine?|Und|Aber|Oder|Hier"
    r"|Heute|Morgen|Gestern|Jetzt|So|W(er|ie|as|o|ann|arum|enn)|Ist|Hat|Sind|[KMS]eine?|Bitte|Danke|Ja|Nein"
    r"|Nicht|Auch|I[nm]|A[mnu][fs]?|Mit|Nach|Von|Vor|Bei|Deshalb|Trotzdem",
}
# Here, sentencex ends none: after regnal numbers, some abbreviations, and repeated marks before
# a word of STARTS; after WORDS, units, and sentences in parentheses before a capital letter; and
# before the next item of a list.
WORDS = {  # sentencex takes them for abbreviations, such as "me." for Maine
    "en": "me|no|may|miss|ill|art|fed|OK|ID",
    "de": "mich|mag|Bart|OK|ok|OP",
}
FINISHED = (
    r"(\b([IVXLC]+|Art|usw|etc|ff|o\. ?k|[ap]\.m)\.|[.!?]{{2,}}|…)\s+(?=({starts})\b)"
    r"|(\b({words})|\d\s?[mslgh])\.[\"“”]?\s+(?=[\"“„]?[A-ZÄÖÜ])"
    r"|(^|[.!?]\s+)\([^()]+[.!?]\)\s+(?=[\"“„(]?[A-ZÄÖÜ])"
    r"|[a-zäöüß]{{3}}(?<!str)(?<!Str)[.!?]\s+(?=\d{{1,2}}\.\s+[A-ZÄÖÜ])"
)
LABEL = re.compile(r"\(?(\d{1,2}|[A-Za-z]|[IVXLC]+)[.)]\s+")  # of an item


def split_sentences(text: str, language: str) -> list[str]:
    """Return the sentences of a text, without the white space around them; a single one stays as it is.

    `language` is a code, such as `"en"` or `"de-CH"`. Its abbreviations ("Dr.", "z. B.") and ordinals ("im
    3. Stock") do not end a sentence; for an unknown code, the rules are those of English. Neither the number
    of a list's item nor a decoration such as an emoji is a sentence. Text that is not valid Unicode stays
    whole.
    """
    from sentencex import segment  # only long texts need it

    code = re.split("[-_]", language.lower())[0]
    try:
        ends = {0, *accumulate(map(len, segment(code, text)))}
    except UnicodeEncodeError:  # half of a surrogate pair
        return [text]
    starts, unfinished, words = (rules.get(code, rules["en"]) for rules in (STARTS, UNFINISHED, WORDS))
    ends |= {found.end() for found in re.finditer(FINISHED.format(starts=starts, words=words), text)}
    ordinal = rf"(?=(({unfinished})(?!\s+({starts})\b)\s+))"  # in a lookahead, so that matches may overlap
    ends -= {found.end(1) for found in re.finditer(ordinal, text)}
    ends -= {found.start() for found in re.finditer(r"(?<!\s)-(?=\w)", text)}  # "Dipl.-Ing."
    ends -= {found.end() for found in re.finditer(rf"\w\.(?=\w)(?!({starts})\b)", text)}  # "ASP.NET"
    ends -= {found.end() for found in LABEL.finditer(text) if found.start() in ends}
    sentences: list[str] = []
    for first, last in pairwise(sorted({*ends, len(text)})):
        piece = text[first:last]
        if sentences and not (set_aside(piece)[1] and set_aside(sentences[-1])[1]):
            sentences[-1] += piece
        else:
            sentences.append(piece)
    return [sentence.strip() for sentence in sentences] if len(sentences) > 1 else [text]
