"""Tokenizers with two segmentations: copies, cleaning, codes of languages, and error messages."""

import copy
import json
import pickle
import re

import pytest
import torch
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers

from annotated_transformer.text.batching import encode_pairs
from annotated_transformer.text.cleaning import clean
from annotated_transformer.text.sentence_pieces import SentencePieceTokenizer, saved_tokenizer
from annotated_transformer.text.tokenizer import SPECIAL_TOKENS, UNK_ID, Tokenizer

VOCABULARY = [*SPECIAL_TOKENS, "▁the", "▁", "t", "h", "e", "▁dog", '"', ">>deu<<", "the"]
TEXTS = ["the dog", ">>deu<< the dog", "„the”", "thé thxxe", "", "<pad> <eos>"]


def side(**scores: float) -> Backend:
    """Return a segmentation that prefers pieces with higher scores."""
    pieces = {"▁": -9.0, "t": -9.0, "h": -9.0, "e": -9.0, '"': -9.0} | scores
    backend = Backend(models.Unigram([(" <unk>", 0.0), *pieces.items()], unk_id=0))
    backend.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()])
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    return backend


@pytest.fixture
def tokenizer() -> SentencePieceTokenizer:
    source, target = side(**{"▁the": -1.0, "▁dog": -1.0}), side(the=-1.0)
    return SentencePieceTokenizer(VOCABULARY, source, target)


def named(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    return [tokenizer.vocabulary()[id_] for id_ in ids]


def test_law_sources_and_targets_are_segmented_by_their_own_models(tokenizer):
    (source,), (target,) = tokenizer.encode_source(["the dog"]), tokenizer.encode_target(["the dog"])
    assert named(tokenizer, source) == ["▁the", "▁dog", "<eos>"]
    assert named(tokenizer, target) == ["<bos>", "▁", "the", "▁", "<unk>", "<eos>"]  # one for all of "dog"


def test_law_a_code_at_the_start_is_one_token(tokenizer):
    sources = tokenizer.encode_source([">>deu<< the", ">>fra<<the", "the >>deu<<", ">> the"])
    known, unknown, inside, no_code = [named(tokenizer, ids) for ids in sources]
    assert known == [">>deu<<", "▁the", "<eos>"]
    assert unknown == ["<unk>", "▁the", "<eos>"]
    assert ">>deu<<" not in inside
    assert no_code[:2] == ["▁", "<unk>"]
    for before in ("\ufeff", "\u200b", "😀 ", "- "):
        assert tokenizer.cleaning().split_code(f"{before}>>deu<< the") == (">>deu<<", f"{before.strip()} the")
        assert tokenizer.split_code(f"{before}>>deu<< the")[0] == ""


def test_law_special_tokens_in_a_text_are_text(tokenizer):
    for *ids, last in tokenizer.encode_source([" ".join(SPECIAL_TOKENS), *SPECIAL_TOKENS]):
        assert not {0, 1, 2} & set(ids)
        assert last == 2


def test_law_decoding_and_tokens_write_spaces(tokenizer):
    ids = [1, 4, 9, 5, 6, 3, 5, 2]
    assert tokenizer.decode([ids, []]) == ["the dog t", ""]
    assert tokenizer.tokens([4, 9, 2]) == [" the", " dog", "<eos>"]
    assert tokenizer.merges() == []


def rewritten(text: str) -> str:
    """Return the same JSON with its fields in another order, and indented."""
    return json.dumps(json.loads(text), indent=1, sort_keys=True)


@pytest.mark.parametrize(
    "copied",
    [
        lambda tokenizer: saved_tokenizer(tokenizer.to_json()),
        lambda tokenizer: saved_tokenizer(rewritten(tokenizer.to_json())),
        lambda tokenizer: pickle.loads(pickle.dumps(tokenizer)),
        copy.deepcopy,
    ],
)
def test_law_a_copy_encodes_as_the_original(tokenizer, copied):
    other = copied(tokenizer)
    assert isinstance(other, SentencePieceTokenizer)
    assert other.to_json() == tokenizer.to_json()
    for name in ("encode_source", "encode_target"):
        assert getattr(other, name)(TEXTS) == getattr(tokenizer, name)(TEXTS)
    assert other.vocabulary() == VOCABULARY


def test_law_cleaning_comes_before_the_models_own_normalization(tokenizer):
    cleaning = saved_tokenizer(tokenizer.cleaning().to_json())
    assert cleaning.cleans
    assert not tokenizer.cleans
    assert cleaning.encode_source(TEXTS) == tokenizer.encode_source([clean(text) for text in TEXTS])
    assert cleaning.encode_target(TEXTS) == tokenizer.encode_target([clean(text) for text in TEXTS])
    assert cleaning.encode_source(TEXTS) != tokenizer.encode_source(TEXTS)


@pytest.mark.message
def test_message_a_source_begins_with_a_code_that_the_vocabulary_lacks(tokenizer):
    known, unknown = (">>deu<< the", ">>fra<< the"), (">>fra<< the", "the")
    assert UNK_ID not in encode_pairs(tokenizer, [known])[0][0]
    message = r"^the source of pair 2 of 3 begins with >>fra<<, which is no code .*; give .* >>deu<<$"
    with pytest.raises(ValueError, match=message):
        encode_pairs(tokenizer, [known, unknown, unknown])


@pytest.mark.message
def test_message_what_such_a_tokenizer_does_not_do(tokenizer):
    with pytest.raises(
        ValueError, match=r"^p=0\.1, but a tokenizer of SentencePiece has no merges .*; give 0$"
    ):
        tokenizer.with_dropout(0.1, torch.Generator())
    with pytest.raises(
        ValueError, match=r"^two ids of the vocabulary have the string '▁'; give each its own$"
    ):
        SentencePieceTokenizer([*VOCABULARY, "▁"], side(), side())
    with pytest.raises(ValueError, match=re.escape("(0, 1, 2, 3) are needed")):
        SentencePieceTokenizer(VOCABULARY[::-1], side(), side())
    with pytest.raises(ValueError, match="text 1 of 1 is not valid Unicode"):
        tokenizer.encode_source(["\ud800"])
    parts = json.loads(tokenizer.to_json())
    del parts["target"]
    with pytest.raises(ValueError, match="this is not the JSON of a tokenizer"):
        saved_tokenizer(json.dumps(parts))
