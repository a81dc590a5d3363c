"""Splitting of a long text into sentences, which is what the models translate: the chapter on decoding."""


def split_sentences(text: str, language: str) -> list[str]:
    """Return the sentences of a text, without the white space around them; a single one stays as it is.

    `language` is a code, such as `"en"`. Its abbreviations ("Dr.", "z. B.") do not end a sentence; for
    an unknown code, they are those of English. Text that is not valid Unicode stays whole.
    """
    from sentencex import segment  # only long texts need it

    try:
        sentences = [sentence.strip() for sentence in segment(language.lower(), text)]
    except UnicodeEncodeError:  # half of a surrogate pair
        return [text]
    nonblank = [sentence for sentence in sentences if sentence]
    return nonblank if len(nonblank) > 1 else [text]
