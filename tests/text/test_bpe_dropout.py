"""BPE dropout: the same text, different tokens in each epoch, and the same tokens in each run."""

import pytest
import torch

from annotated_transformer.text.batching import encode_pairs
from annotated_transformer.text.bpe_dropout import BPEDropout
from annotated_transformer.text.tokenizer import Tokenizer
from annotated_transformer.text.toy.pairs import toy_pairs

TEXTS = [(pair.source, pair.target) for pair in toy_pairs(211)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train((text for pair in TEXTS for text in pair), vocab_size=401)


def test_law_every_segmentation_has_the_same_text_and_vocabulary(tokenizer: Tokenizer):
    pairs = BPEDropout(tokenizer, TEXTS, p=0.1, seed=0, longest=99, groups=7)(0)
    for side in (0, 1):
        assert tokenizer.decode([pair[side] for pair in pairs]) == [texts[side] for texts in TEXTS]
    both = list(zip(pairs, encode_pairs(tokenizer, TEXTS), strict=True))
    assert sum(len(pair[1]) > len(plain[1]) for pair, plain in both) / len(both) > 0.3
    assert sum(pair == plain for pair, plain in both) / len(both) < 0.5


def test_law_segmentations_depend_on_epoch_and_seed_only(tokenizer: Tokenizer):
    first, again = (BPEDropout(tokenizer, TEXTS, p=0.1, seed=0, longest=99, groups=7) for _ in range(2))
    other = BPEDropout(tokenizer, TEXTS, p=0.1, seed=1, longest=99, groups=7)
    epochs = [first(3), first(4), other(3)]
    assert again(3) == epochs[0]  # regardless of the epochs before
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]


@pytest.mark.parametrize("texts", [TEXTS, [pair[::-1] for pair in TEXTS]], ids=["en-de", "de-en"])
def test_law_a_pair_that_would_be_too_long_is_encoded_without_dropout(tokenizer: Tokenizer, texts: list):
    plain = encode_pairs(tokenizer, texts)
    longest = max(len(ids) for pair in plain for ids in pair)
    free, held = (BPEDropout(tokenizer, texts, p=0.5, seed=0, longest=limit)(0) for limit in (99, longest))
    too_long = [max(map(len, pair)) > longest for pair in free]
    assert 0 < sum(too_long) < len(too_long)
    rows = zip(too_long, plain, free, held, strict=True)
    assert all(found == (whole if long else other) for long, whole, other, found in rows)


def test_law_a_tokenizer_leaves_out_a_fraction_p_of_merges(tokenizer: Tokenizer):
    rng = torch.Generator().manual_seed(0)
    ids = tokenizer.encode_source(["der kleine Hund"])[0]
    letters = tokenizer.with_dropout(1 - 1e-9, rng).encode_source(["der kleine Hund"])[0]
    assert len(letters) == len("der kleine Hund") + 2 > len(ids)  # the space before the first word, and EOS
    assert tokenizer.with_dropout(0.0, rng).encode_source(["der kleine Hund"]) == [ids]
    assert tokenizer.with_dropout(0.5, rng).vocab_size == tokenizer.vocab_size


@pytest.mark.message
@pytest.mark.parametrize("p", [-0.1, 1.0])
def test_message_a_probability_out_of_range(tokenizer: Tokenizer, p: float):
    with pytest.raises(ValueError, match=rf"p={p} is not a probability for leaving out a merge; give 0 or"):
        tokenizer.with_dropout(p, torch.Generator())
