"""The tokenizer: lossless encoding, deterministic training, special tokens, and error messages."""

import copy
import json
import pickle
import random
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch

from annotated_transformer.text.cleaning import VARIANTS, clean
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, Tokenizer

CORPUS = [
    "A man is sleeping in the park.",
    "Ein Mann schläft im Park.",
    "Two men are sleeping.",
    "Zwei Männer schlafen im Park, im Park!",
]
STRANGE = [
    "  blanks at both ends\t",
    "two  blanks, a\ttab and a\u00a0hard one",
    "cafe\u0301 and café",
    "Straße, größer, ÄÖÜ",
    "日本語 русский العربية",
    "🎉👩‍👩‍👧",
    "<pad><bos> <eos> <unk>",
    'it\'s "quoted" … – 3.14',
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


def test_law_names_of_special_tokens_in_a_text_are_text(tokenizer: Tokenizer):
    (ids,) = tokenizer.encode_source(["<eos> <pad>"])
    assert ids.count(EOS_ID) == 1
    assert PAD_ID not in ids


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_law_a_copy_encodes_as_the_original(tokenizer: Tokenizer, copied: Callable[[Tokenizer], Tokenizer]):
    texts = ["a <eos> b", "<pad><bos>", *CORPUS]
    for one in (
        tokenizer,
        tokenizer.cleaning(),
        tokenizer.with_dropout(0.5, torch.Generator().manual_seed(0)),
    ):
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


@pytest.mark.message
@pytest.mark.parametrize(("texts", "count"), [([], 0), (["", " \n"], 2)])
def test_message_an_empty_corpus(texts: list[str], count: int):
    with pytest.raises(ValueError, match=rf"the corpus is empty \({count} texts, none with a word\); give"):
        Tokenizer.train(texts, vocab_size=300)


@pytest.mark.message
def test_message_a_vocabulary_too_small_for_the_bytes():
    with pytest.raises(ValueError, match=r"vocab_size=259 has no room for 4 .* 256 bytes; give at least 260"):
        Tokenizer.train(CORPUS, vocab_size=259)
    assert Tokenizer.train(CORPUS, vocab_size=260).vocab_size == 260


@pytest.mark.message
@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "1.0"}'])
def test_message_not_a_tokenizer(text: str):
    with pytest.raises(ValueError, match=r"this is not the JSON of a tokenizer \(.*\); give what"):
        Tokenizer.from_json(text)


@pytest.mark.message
def test_message_a_tokenizer_with_other_special_tokens(tokenizer: Tokenizer):
    other = tokenizer.to_json().replace("<bos>", "<s>")
    with pytest.raises(ValueError, match=r"the ids \(0, None, 2, 3\), but \(0, 1, 2, 3\) are needed; make"):
        Tokenizer.from_json(other)


NO_TEXTS = [
    ("abc", r"takes a list of texts, not one text; give \['abc'\]"),
    (b"abc", r"takes a list of texts, not one text; give \[b'abc'\]"),
    (None, "takes a list of texts, not NoneType; give strings in a list"),
    (3, "takes a list of texts, not int; give strings in a list"),
    (["a", b"b"], r"text 1 of 2 is of type bytes; give strings, such as text\.decode"),
    ([None], "text 0 of 1 is of type NoneType; give strings"),
]


@pytest.mark.message
@pytest.mark.parametrize(("texts", "sentence"), NO_TEXTS)
def test_message_texts_that_are_not_a_list_of_strings(tokenizer: Tokenizer, texts: object, sentence: str):
    for use in (lambda wrong: Tokenizer.train(wrong, vocab_size=300), tokenizer.encode_source):
        with pytest.raises(TypeError, match=sentence):
            use(texts)


@pytest.mark.message
def test_message_half_of_a_surrogate_pair(tokenizer: Tokenizer):
    message = r"text 1 of 2 is not valid Unicode: it has half of a surrogate pair \('a\\ud800'\); decode it"
    for call in (
        tokenizer.encode_source,
        tokenizer.encode_target,
        lambda texts: Tokenizer.train(texts, vocab_size=263),
    ):
        with pytest.raises(ValueError, match=message):
            call(["A man", "a\ud800"])


@pytest.mark.message
@pytest.mark.parametrize("size", [1_000_000_000, 4_194_305, 300.5])
def test_message_a_vocabulary_too_large_for_memory(size: float):
    sentence = rf"vocab_size={size} is not a whole number up to 4,194,304; choose a smaller one"
    with pytest.raises(ValueError, match=sentence):
        Tokenizer.train(["a b"], vocab_size=size)


@pytest.mark.message
@pytest.mark.parametrize("wrong", [-1, 10**6, 2**70])
def test_message_ids_of_another_tokenizer(tokenizer: Tokenizer, wrong: int):
    sentence = rf"ids {min(wrong, 4)} to {max(wrong, 4)} do not fit a vocabulary of {tokenizer.vocab_size}, 0"
    for use in (lambda ids: tokenizer.decode([[5], ids]), tokenizer.tokens):
        with pytest.raises(ValueError, match=sentence):
            use([4, wrong])
        with pytest.raises(ValueError, match=f"to {tokenizer.vocab_size} do not fit"):
            use([tokenizer.vocab_size])


@pytest.mark.message
@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (torch.tensor([4]), "Tensor"),
        (None, "NoneType"),
        ([4.0], "list of float"),
        ([4, True], "list of bool"),
    ],
)
def test_message_ids_that_are_not_a_list(tokenizer: Tokenizer, wrong: object, kind: str):
    for use in (lambda ids: tokenizer.decode([[5], ids]), tokenizer.tokens):
        with pytest.raises(TypeError, match=rf"ids are of type {kind}, not a list of int; give"):
            use(wrong)


@pytest.mark.message
@pytest.mark.parametrize(
    ("wrong", "kind", "way_out"),
    [
        (None, "NoneType", "tensor.tolist()"),
        (4, "int", "[[id]] for one id"),
        ([4, 5], "list of int", "[ids] for one sequence"),
        ((4, 5), "tuple of int", "[ids] for one sequence"),
        (torch.tensor(4), "Tensor", "[[tensor.tolist()]]"),
        (torch.tensor([4]), "Tensor", "[tensor.tolist()]"),
        (torch.tensor([[4]]), "Tensor", "tensor.tolist()"),
    ],
)
def test_message_sequences_that_are_not_a_list_of_lists(tokenizer, wrong, kind, way_out):
    message = f"sequences are of type {kind}, not a list of lists of int; give {way_out}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        tokenizer.decode(wrong)
    if isinstance(wrong, torch.Tensor):
        assert tokenizer.decode(eval(way_out, {"tensor": wrong})) == tokenizer.decode([[4]])
