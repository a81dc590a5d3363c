"""The guide's small grammar, and the models that its benchmark compares."""

import re

import torch

from annotated_transformer.book.spanish import FEMININE, spanish_pairs
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from benchmarks.spanish import WAYS, recipe_of, start_of


def test_law_articles_and_adjectives_agree_with_their_noun():
    phrases = [found for _, text in spanish_pairs(300, seed=3) for found in
        re.findall(r"\b([Ee]l|[Ll]a) (\w+)(?: (?!no\b|\w+a (?:el|la)\b)(\w+[oa])\b)?", text)]  # fmt: skip
    assert {noun in FEMININE for _, noun, adjective in phrases if adjective} == {True, False}
    for article, noun, adjective in phrases:
        assert article.lower() == ("la" if noun in FEMININE else "el")
        assert not adjective or adjective[-1] == ("a" if noun in FEMININE else "o")


def test_law_only_the_weights_differ_between_the_first_two_ways(tmp_path):
    assert recipe_of(WAYS[0]) == recipe_of(WAYS[1])
    assert start_of(WAYS[0], 0, tmp_path / "a") == pretrained_folder("en-de")
    (shipped, ours), (drawn, theirs) = (checkpoint.load(start_of(way, 0, tmp_path / way)) for way in WAYS[:2])
    assert shipped.config == drawn.config
    assert ours.encode_source(["a red house"]) == theirs.encode_source(["a red house"])
    assert not torch.equal(shipped.embedding.weight, drawn.embedding.weight)
    assert start_of(WAYS[2], 0, tmp_path / "c") is None
