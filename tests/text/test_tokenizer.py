"""The tokenizer: lossless encoding, deterministic training, special tokens, and error messages."""

import copy
import json
import pickle
import random
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch

from annotated_transformer.text.cleaning import VARIANTS, clean
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, Tokenizer

CORPUS = ["A man is sleeping in the park.", "Ein Mann schläft im Park."]
CORPUS += ["Two men are sleeping.", "Zwei Männer schlafen im Park, im Park!"]
STRANGE = ["  blanks at both ends\t", "two  blanks, a\ttab and a\u00a0hard one", "cafe\u0301 and café"]
STRANGE += [
    "日本語 русский العربية",
    "🎉👩‍👩‍👧",
    "<pad><bos> <eos> <unk>",
    "it's … – 3.14",
    "\ufffd\u200b",
    "\\n ĠÃ ▁",
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(CORPUS, vocab_size=293)


def test_law_decoding_gives_the_normalized_text_back(tokenizer: Tokenizer):
    ids = tokenizer.encode_source(CORPUS + STRANGE)
    expected = [unicodedata.normalize("NFC", text).strip() for text in CORPUS + STRANGE]
    assert expected != CORPUS + STRANGE  # otherwise there would be nothing to normalize
    assert tokenizer.decode(ids) == expected == [tokenizer.normalize(text) for text in CORPUS + STRANGE]


def test_law_cleaning_normalizes_as_clean_does(tokenizer: Tokenizer):
    cleaning, rng = tokenizer.cleaning(), random.Random(0)
    codes = [*range(0x3100), *range(0x3100, 0xD800, 97), *range(0xE000, sys.maxunicode + 1, 97)]
    every = [*map(chr, {*codes, *range(0xF900, 0x10000), *range(0xE0000, 0xE0200)})]
    each = [f"a{character}b\u0301" for character in every]
    texts = ["".join(each[start : start + 997]) for start in range(0, len(each), 997)]
    odd = [*VARIANTS, *filter(str.isspace, every), *"aeo\u0301\u0308\u0327é漢\x00<=\u0338"]
    odd += [*"\u0646\u06cc\u0915\u094d\u0937\u200c\u200d\u200e\ufe0f\u00ad\u20e3"] * 7
    texts += ["".join(rng.choices(odd, k=rng.randint(0, 13))) for _ in range(503)]
    assert [text for text in texts if cleaning.normalize(text) != clean(text)] == []
    assert any(tokenizer.normalize(text) != clean(text) for text in texts)


def test_law_cleaning_changes_texts_but_not_ids(tokenizer: Tokenizer):
    cleaning = Tokenizer.from_json(tokenizer.cleaning().to_json())  # as in a saved model
    assert cleaning.vocab_size == tokenizer.vocab_size
    assert cleaning.encode_target(CORPUS) == tokenizer.encode_target(CORPUS)
    messy = ["Ein\u00a0 „Mann“\u200b schla\u0308ft\r\n", *STRANGE]
    assert cleaning.encode_source(messy) == tokenizer.encode_source([clean(text) for text in messy])
    assert cleaning.encode_source(messy) != tokenizer.encode_source(messy)
    assert cleaning.cleaning().to_json() == cleaning.to_json()


def test_law_source_ends_with_eos_and_target_begins_with_bos_too(tokenizer: Tokenizer):
    (source,), (target,) = tokenizer.encode_source(CORPUS[:1]), tokenizer.encode_target(CORPUS[:1])
    assert source[-1] == EOS_ID
    assert target == [BOS_ID, *source]
    assert not {PAD_ID, BOS_ID, EOS_ID} & set(source[:-1])
    assert tokenizer.decode([[*target, PAD_ID, PAD_ID]]) == CORPUS[:1]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_law_a_copy_encodes_as_the_original(tokenizer: Tokenizer, copied: Callable[[Tokenizer], Tokenizer]):
    texts, dropout = ["a <eos> b", "<pad><bos>", *CORPUS], torch.Generator().manual_seed(0)
    for one in (tokenizer, tokenizer.cleaning(), tokenizer.with_dropout(0.5, dropout)):
        assert copied(one).encode_target(texts) == one.encode_target(texts)
        assert copied(one).to_json() == one.to_json()


def test_law_joined_tokens_are_the_text(tokenizer: Tokenizer):
    for text in [*CORPUS, "<eos> is text"]:
        (ids,) = tokenizer.encode_target([text])
        tokens = tokenizer.tokens(ids)
        assert "".join(tokens) == f"<bos> {text}<eos>"
        assert len(tokens) == len(ids)
    (ids,) = tokenizer.encode_source(["日"])
    assert tokenizer.tokens(ids) == [" ", "\ufffd", "\ufffd", "\ufffd", "<eos>"]


def test_law_the_vocabulary_is_special_tokens_then_bytes_then_merged_pairs(tokenizer: Tokenizer):
    vocabulary, merges = tokenizer.vocabulary(), tokenizer.merges()
    assert len(vocabulary) == tokenizer.vocab_size == len(set(vocabulary))
    assert vocabulary[:4] == ["<pad>", "<bos>", "<eos>", "<unk>"]
    assert all(len(symbol) == 1 for symbol in vocabulary[4:260])
    assert vocabulary[260:] == ["".join(pair) for pair in merges]
    (ids,) = tokenizer.encode_source(["schläft"])
    stored = "".join(vocabulary[id_] for id_ in ids[:-1])
    assert stored == "Ġschl" + "Ã¤" + "ft"  # the bytes of a space and of "ä" in UTF-8


def test_law_a_pair_of_symbols_that_occurs_once_is_not_merged():
    bytes_only = Tokenizer.train(["xy"], vocab_size=293).vocab_size
    assert bytes_only < Tokenizer.train(["xy xy"], vocab_size=293).vocab_size


@pytest.mark.equation("eq-bpe-merge")
def test_law_each_merge_is_of_a_most_frequent_pair():
    rng = random.Random(0)
    words = ["".join(rng.choices("abcde", weights=(8, 5, 3, 2, 1), k=rng.randint(1, 7))) for _ in range(97)]
    merges = json.loads(Tokenizer.train([" ".join(words)], vocab_size=290).to_json())["model"]["merges"]
    assert len(merges) == 30
    parts = [["\u0120", *word] for word in words]  # how the library writes the space before a word
    for left, right in merges:
        counts = Counter(pair for part in parts for pair in pairwise(part))
        assert counts[left, right] == max(counts.values()) > 1
        for part in parts:
            place = 0
            while place + 1 < len(part):
                if part[place : place + 2] == [left, right]:
                    part[place : place + 2] = [left + right]
                place += 1


def train(texts: object, vocab_size: float = 300) -> Callable[[Tokenizer], object]:
    return lambda _: Tokenizer.train(texts, vocab_size=vocab_size)


def encode(texts: object) -> Callable[[Tokenizer], object]:
    return lambda tokenizer: tokenizer.encode_source(texts)


HALF = r"text 2 of 2 is not valid Unicode: it has half of a surrogate pair \('a\\ud800'\); decode it"
MISTAKES = [
    (r"the corpus is empty \(0 texts, none with a word\); give", train([])),
    (r"the corpus is empty \(2 texts, none with a word\); give", train(["", " \n"])),
    (r"vocab_size=259 has no room for 4 .* 256 bytes; give at least 260", train(CORPUS, 259)),
    ("vocab_size=4194305 is not a whole number up to 4,194,304; choose a smaller", train(["a b"], 4_194_305)),
    ("vocab_size=300.5 is not a whole number up to 4,194,304; choose a smaller one", train(["a b"], 300.5)),
    (HALF, train(["A man", "a\ud800"])),
    (HALF, encode(["A man", "a\ud800"])),
    (HALF, lambda tokenizer: tokenizer.encode_target(["A man", "a\ud800"])),
    (
        r"the ids \(0, None, 2, 3\), but \(0, 1, 2, 3\) are needed; make it",
        lambda tokenizer: Tokenizer.from_json(tokenizer.to_json().replace("<bos>", "<s>")),
    ),
]


@pytest.mark.message
@pytest.mark.parametrize(("message", "call"), MISTAKES)
def test_message_what_cannot_be_trained_on_encoded_or_read(tokenizer: Tokenizer, message: str, call):
    with pytest.raises(ValueError, match=message):
        call(tokenizer)


@pytest.mark.message
@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "1.0"}'])
def test_message_not_a_tokenizer(text: str):
    with pytest.raises(ValueError, match=r"this is not the JSON of a tokenizer \(.*\); give what Tokenizer"):
        Tokenizer.from_json(text)


@pytest.mark.message
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ([4, -1], ValueError, "ids -1 to 4 do not fit a vocabulary of 282, 0"),
        ([4, 282], ValueError, "ids 4 to 282 do not fit a vocabulary of 282, 0"),
        (torch.tensor([4]), TypeError, r"ids are of type Tensor, not a list of int; give tensor\.tolist"),
        ([4, True], TypeError, r"ids are of type list of bool, not a list of int; give tensor\.tolist"),
    ],
)
def test_message_ids_of_another_tokenizer_or_type(tokenizer: Tokenizer, wrong: object, error, message: str):
    for use in (lambda ids: tokenizer.decode([[5], ids]), tokenizer.tokens):
        with pytest.raises(error, match=message):
            use(wrong)
