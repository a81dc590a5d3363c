"""The guide's small grammar, and the models that its benchmark compares."""

import re

import torch

from annotated_transformer.checkpointing.checkpoint import load, pretrained_folder
from annotated_transformer.text.toy.spanish import FEMININE, spanish_pairs
from benchmarks.spanish import WAYS, begun


def test_law_articles_and_adjectives_agree_with_their_noun():
    phrases = [found for _, text in spanish_pairs(300, seed=3) for found in
        re.findall(r"\b([Ee]l|[Ll]a) (\w+)(?: (?!no\b|\w+a (?:el|la)\b)(\w+[oa])\b)?", text)]  # fmt: skip
    assert {noun in FEMININE for _, noun, adjective in phrases if adjective} == {True, False}
    for article, noun, adjective in phrases:
        assert article.lower() == ("la" if noun in FEMININE else "el")
        assert not adjective or adjective[-1] == ("a" if noun in FEMININE else "o")


def test_law_only_the_weights_differ_between_the_first_two_ways():
    pairs = spanish_pairs(3, seed=0)
    (shipped, ours, settings), (drawn, theirs, same) = (begun(way, pairs) for way in WAYS[:2])
    assert (settings, shipped.config) == (same, drawn.config)
    assert ours.encode_source(["a red house"]) == theirs.encode_source(["a red house"])
    assert not torch.equal(shipped.embedding.weight, drawn.embedding.weight)
    assert torch.equal(shipped.embedding.weight, load(pretrained_folder("en-de"))[0].embedding.weight)
