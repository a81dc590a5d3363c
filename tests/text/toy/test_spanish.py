"""The guide's small grammar: articles and adjectives agree."""

import re

from annotated_transformer.text.toy.spanish import FEMININE, spanish_pairs


def test_law_articles_and_adjectives_agree_with_their_noun():
    phrases = [found for _, text in spanish_pairs(300, seed=3) for found in
        re.findall(r"\b([Ee]l|[Ll]a) (\w+)(?: (?!no\b|\w+a (?:el|la)\b)(\w+[oa])\b)?", text)]  # fmt: skip
    assert {noun in FEMININE for _, noun, adjective in phrases if adjective} == {True, False}
    for article, noun, adjective in phrases:
        assert article.lower() == ("la" if noun in FEMININE else "el")
        assert not adjective or adjective[-1] == ("a" if noun in FEMININE else "o")
