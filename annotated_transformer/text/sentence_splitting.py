"""Splitting of a long text into sentences, which is what the models translate: the chapter on decoding."""

import re
from itertools import accumulate, pairwise

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.text.cleaning import set_aside

STARTS = {  # words that begin a sentence after most abbreviations and numbers
    "en": "He|She|It|We|They|I|You|The|This|That|There|Then|And|But|So|What|Who|How|Is|Are|Do|Yes|No",
    "de": r"Er|Sie|Es|Ich|Du|Wir|D(as|er|ie|ann|och|ort|ies\w*)|Eine?|Und|Aber|Hier|Heute|Morgen|Jetzt|So"
    r"|W(er|ie|as|o|ann|arum|enn)|Ist|[KMS]eine?|Bitte|Danke|Ja|Nein|Nicht|Auch|I[nm]|A[mnu][fs]?|Mit|Nach",
}
UNFINISHED = {  # here, sentencex ends a sentence, which goes on unless a word of STARTS follows
    "en": r"\b(Ms|[Vv]ols?|[Aa]pprox|[Ee]ds?|[Tt]el|incl|Mon|Tues?|Wed|Thu|Fri)\.|\b[IVXLC]{2,}\.(?=\s+[a-z])"
    r"|[.?!][\"”](?=\s+[A-Z]\w+\s+(said|asked|answered|replied|added)\b)",
    "de": r"\b(Abs|Bd|[Bb]es|Dez|exkl|Fam?|Frl|geb|Ing|[Ii]nkl|Kap|[Mm]ax|Okt|Tel|Tsd)\."
    r"|\b((?i:[ai]m|vom|zu[mr]|beim|d(er|ie|as|e[mns])|([kmds]?ein|ihr|unse?r|jed|dies)(e[mnrs]?)?)|\w{5,}s"
    r"|\d\.?,?( und| oder| bis)?)\s+\d{1,3}\."  # an ordinal
    r"|(?<![\w.,:])\d{1,3}\.(?=\s+(Jahrhundert|Weltkrieg|Stock|Klasse|Liga|Geburtstag|Mal)\b)",
}
WORDS = {  # sentencex takes them for abbreviations, such as "me." for Maine
    "en": "me|no|may|miss|ill|art|fed|OK|ID",
    "de": "mich|mag|Bart|OK|ok|OP",
}
FINISHED = (  # here, sentencex ends none
    r"(\b([IVXLC]+|Art|usw|etc|ff|o\. ?k|[ap]\.m)\.|[.!?]{{2,}}|…)\s+(?=({starts})\b)"
    r"|(\b({words})|\d\s?[mslgh])\.[\"“”]?\s+(?=[\"“„]?[A-ZÄÖÜ])"  # a word or a unit
    r"|(^|[.!?]\s+)\([^()]+[.!?]\)\s+(?=[\"“„(]?[A-ZÄÖÜ])"  # a sentence in parentheses
    r"|[a-zäöüß]{{3}}(?<!str)(?<!Str)[.!?]\s+(?=\d{{1,2}}\.\s+[A-ZÄÖÜ])"  # before an item of a list
)
LABEL = re.compile(r"\(?(\d{1,2}|[A-Za-z]|[IVXLC]+)[.)]\s+")  # of an item


@refuses_other_kinds
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
    ends |= {match.end() for match in re.finditer(FINISHED.format(starts=starts, words=words), text)}
    goes_on = rf"(?=(({unfinished})(?!\s+({starts})\b)\s+))"  # in a lookahead, so that matches may overlap
    ends -= {match.end(1) for match in re.finditer(goes_on, text)}
    ends -= {match.start() for match in re.finditer(r"(?<!\s)-(?=\w)", text)}  # "Dipl.-Ing."
    ends -= {match.end() for match in re.finditer(rf"\w\.(?=\w)(?!({starts})\b)", text)}  # "ASP.NET"
    ends -= {match.end() for match in LABEL.finditer(text) if match.start() in ends}
    sentences: list[str] = []
    for first, last in pairwise(sorted({*ends, len(text)})):
        piece = text[first:last]
        if sentences and not (set_aside(piece)[1] and set_aside(sentences[-1])[1]):
            sentences[-1] += piece
        else:
            sentences.append(piece)
    return [sentence.strip() for sentence in sentences] if len(sentences) > 1 else [text]
