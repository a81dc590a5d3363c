"""A translator with an engine: it ranks, decodes and refuses as with its own search."""

import math
from typing import Any

import pytest
import torch

from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.engine import Candidate, engine_search
from annotated_transformer.decoding.greedy import EXTRA_TOKENS
from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import EOS_ID
from tests.decoding import conftest

pytestmark = pytest.mark.usefixtures("unchecked")
TEXTS = sorted({*conftest.TEXTS})


class Ours:
    """An engine that searches with our own search, and remembers what it was asked for.

    It may know from what it was exported.
    """

    def __init__(self, model: Transformer, vocabulary: Any = None, languages: Any = None) -> None:
        self.model, self.vocab_size = model, model.config.vocab_size
        self.vocabulary, self.languages = vocabulary, languages
        self.asked: list[tuple[list[list[int]], list[int], int]] = []

    def search(self, sources: list[list[int]], *, limits: list[int], beam_size: int) -> list[list[Candidate]]:
        self.asked.append((sources, limits, beam_size))
        found = []
        for ids in sources:
            best = beam_search(self.model, torch.tensor([ids]), beam_size=beam_size, nbest=beam_size)
            rows = zip(best.ids.tolist(), best.log_probs.tolist(), strict=True)
            candidates = [Candidate([id_ for id_ in row if id_ != 0], log_prob) for row, log_prob in rows]
            found.append(candidates[::-1])  # in any order
        return found


class Scripted:
    """An engine that finds the same hypotheses for each source."""

    def __init__(self, *candidates: tuple[list[int], float], vocab_size: int = 11) -> None:
        self.candidates, self.vocab_size = [Candidate(*own) for own in candidates], vocab_size

    def search(self, sources: list[list[int]], *, limits: list[int], beam_size: int) -> list[list[Candidate]]:
        return [list(self.candidates) for _ in sources]


@pytest.fixture
def translator(translator: Translator) -> Translator:
    return Translator(translator.model, translator.tokenizer.cleaning(), languages=("en", "de"))


@pytest.fixture
def engine(translator: Translator) -> Ours:
    return Ours(translator.model)


@pytest.fixture
def with_engine(translator: Translator, engine: Ours) -> Translator:
    return Translator(translator.model, translator.tokenizer, engine=engine)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_law_an_engine_that_searches_as_we_do_gives_our_results(translator, with_engine, beam_size: int):
    texts = ["🙂 A child, two dogs.", *TEXTS[:3], "• Dogs."]
    settings = {"beam_size": beam_size, "batch_size": 2, "length_penalty": PlainLength(0.7)}
    translations = with_engine.translate(texts, **settings)
    assert translations == translator.translate(texts, **settings)
    assert len(set(translations)) == len(texts)
    assert "🙂" in translations[0]
    own, other = (x.explain(texts, **settings) for x in (translator, with_engine))
    assert [each.text for each in own] == [each.text for each in other] == translations
    assert [each.log_prob for each in own] == pytest.approx([each.log_prob for each in other])
    nbest = with_engine.nbest(texts, beam_size, **settings)
    for found, ranked in zip(nbest, translator.nbest(texts, beam_size, **settings), strict=True):
        assert [each.text for each in found] == [each.text for each in ranked]
        for one, two in zip(found, ranked, strict=True):
            assert one.log_prob == pytest.approx(two.log_prob)
            assert one.penalized_log_prob == pytest.approx(two.penalized_log_prob)


def test_law_an_engine_gets_sources_without_padding_their_limits_and_the_beam(
    translator, with_engine, engine
):
    with_engine.translate(TEXTS)
    with_engine.nbest(TEXTS, 5)
    ((greedy_sources, limits, _), (sources, _, _)) = engine.asked
    assert [beam_size for _, _, beam_size in engine.asked] == [1, 5]
    assert sorted(greedy_sources) == sorted(sources) == sorted(translator.tokenizer.encode_source(TEXTS))
    assert limits == [min(len(ids) + EXTRA_TOKENS, 29) for ids in greedy_sources]


def test_law_candidates_are_ranked_by_the_length_penalty(model: Transformer):
    src, short, long = torch.tensor([[4, EOS_ID], [5, EOS_ID]]), [7, EOS_ID], [7, 8, 9, 4, 5, 6, EOS_ID]
    engine = Scripted((short, -3.0), (long, -4.0), ([9], -math.inf))
    found = engine_search(engine, model.config, src, nbest=4, length_penalty=GnmtLength(0.6))
    padded = short + [0] * 5
    assert found.ids.tolist() == [long, padded, [0] * 7, [0] * 7] * 2
    assert found.log_probs.tolist() == [-4.0, -3.0, -math.inf, -math.inf] * 2
    expected = [-4 / 2**0.6, -3 / (7 / 6) ** 0.6]
    assert found.penalized_log_probs.tolist()[:2] == pytest.approx(expected)
    flat = engine_search(engine, model.config, src, length_penalty=GnmtLength(0))
    assert flat.ids.tolist() == [short] * 2
    assert flat.penalized_log_probs.tolist() == [-3.0, -3.0]


@pytest.mark.message
@pytest.mark.parametrize("candidates", [[], [([7, EOS_ID], -math.inf)], [([7], -1.0), ([8], math.nan)]])
def test_message_an_engine_without_a_hypothesis_has_damaged_weights(model: Transformer, candidates: list):
    with pytest.raises(FloatingPointError, match=r"probability 0 or NaN; .* or export it in float32"):
        engine_search(Scripted(*candidates), model.config, torch.tensor([[4, EOS_ID]]))


@pytest.mark.message
def test_message_an_engine_does_not_sample(with_engine: Translator):
    with pytest.raises(ValueError, match="an engine searches, and does not sample; sample with a Translator"):
        with_engine.sample(TEXTS, generator=torch.Generator())
    with pytest.raises(ValueError, match="nbest=3 hypotheses are more than beam_size=2 finds"):
        with_engine.nbest(TEXTS, 3, beam_size=2)


@pytest.mark.message
@pytest.mark.parametrize(
    ("both", "words"),
    [
        ({"fast": True}, "fast=True and an engine both say how to decode; give one of them"),
        ({"decoder": KeyValueCache}, "a decoder and an engine both say how to decode; give one of them"),
        ({"fast": True, "decoder": KeyValueCache, "engine": None}, "fast=True and a decoder both say how"),
    ],
)
def test_message_one_thing_decodes(translator: Translator, engine: Ours, both: dict, words: str):
    with pytest.raises(ValueError, match=words):
        Translator(translator.model, translator.tokenizer, **{"engine": engine, **both})


@pytest.mark.message
def test_message_an_engine_of_another_vocabulary(translator: Translator):
    with pytest.raises(ValueError, match=r"the engine has vocab_size=11, and the model 27\d; give an engine"):
        Translator(translator.model, translator.tokenizer, engine=Scripted())


def test_law_an_engine_of_the_same_tokens_and_languages_or_of_unknown_ones_is_taken(translator):
    model, tokenizer = translator.model, translator.tokenizer
    for vocabulary in (tokenizer.vocabulary(), None):
        for languages in (("en", "de"), None):
            engine = Ours(model, vocabulary, languages)
            for known in (("en", "de"), None):
                assert Translator(model, tokenizer, engine=engine, languages=known).translate(["A child"])


@pytest.mark.message
@pytest.mark.parametrize(
    ("change", "languages", "sentence"),
    [
        (lambda names: [*names[:-1], "Xyz"], None, "token {0} is 'Xyz' there, and '.+' in this one; give "),
        (lambda names: names[:-1], None, "token {0} is None there"),
        (lambda names: [*names, "more"], None, "token {1} is 'more' there, and None in this one"),
        (list, ("de", "en"), "translates from de into en, and this model from en into de; give the "),
    ],
)
def test_message_an_engine_of_another_tokenizer_or_direction(translator, change, languages, sentence):
    names = translator.tokenizer.vocabulary()
    engine = Ours(translator.model, change(names), languages)
    start = "^the engine " if languages else "^the engine was exported with another tokenizer: "
    with pytest.raises(ValueError, match=start + sentence.format(len(names) - 1, len(names))):
        Translator(translator.model, translator.tokenizer, engine=engine, languages=("en", "de"))
