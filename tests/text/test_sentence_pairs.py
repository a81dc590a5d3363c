"""Which sentence pairs are left out, and splits: no two share a sentence, and every pair is in one."""

import itertools
import random

import pytest

from annotated_transformer.text.sentence_pairs import (
    SentencePair,
    Splits,
    filter_reason,
    keep_usable,
    split_by_sentence,
)


@pytest.mark.parametrize(
    ("shorter", "longer", "reason"),
    [
        (0, 0, "empty"),
        (0, 11, "empty"),
        (1, 6, None),
        (1, 7, "mismatched"),
        (2, 9, None),
        (2, 10, "mismatched"),
        (11, 36, None),
        (11, 37, "mismatched"),
    ],
)
def test_law_pairs_are_mismatched_beyond_three_times_plus_three_words(
    shorter: int, longer: int, reason: str | None
):
    pair = (" \t" + "a " * shorter, "b " * longer)
    assert filter_reason(pair) == filter_reason(pair[::-1]) == reason


def test_law_each_pair_is_kept_or_counted_once():
    good = [("One.", "Eins."), ("Run!", "Lauf doch bitte schnell weg!")]
    empty = [("", "Nichts."), ("", "eins zwei drei vier"), (" ", "")]
    mismatched = [("Yes.", "Das ist gewiss keine Übersetzung davon, oder?")] * 2
    pairs = [*empty, good[0], *mismatched, good[1]]
    assert keep_usable(pairs) == (good, {"empty": 3, "mismatched": 2})


SHARE = 0.2


@pytest.fixture
def pairs() -> list[SentencePair]:
    """Return chains: each English sentence has two translations and shares the second with the next one."""
    chains = ((chain, link, german) for chain in range(53) for link in range(3) for german in (0, 1))
    return [(f"E {chain} {link}.", f"D {chain} {link + german}!") for chain, link, german in chains]


def chains(split: list[SentencePair]) -> set[str]:
    return {english.split()[1] for english, _ in split}


def test_law_every_pair_is_in_one_split_and_no_two_share_a_sentence(pairs: list[SentencePair]):
    splits = split_by_sentence(pairs, share=SHARE)
    assert list(splits) == ["train", "val", "test"]
    assert sorted(itertools.chain(*splits.values())) == sorted(pairs)
    sizes = {name: len(chains(split)) / 53 for name, split in splits.items()}
    assert sizes == pytest.approx({"train": 0.6, "val": 0.2, "test": 0.2}, abs=0.1)
    for one, other in itertools.combinations(splits.values(), 2):
        assert chains(one)  # otherwise nothing could be shared
        assert not chains(one) & chains(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Go home!", "Geh heim!"), ("go home", "Ab nach Hause!")),
        (("Go home!", "Geh heim!"), ("Leave for home.", "Geh, heim?")),
        (("?!", "Bitte?"), ("?!", "Hä?")),
        (("A wide road.", "Die Straße ist breit."), ("It is broad.", "DIE STRASSE IST BREIT!")),
    ],
    ids=["English", "German", "no word", "capitals"],
)
def test_law_sentences_that_differ_in_case_and_punctuation_are_the_same(
    pairs: list[SentencePair], one: SentencePair, other: SentencePair
):
    together = set()
    for seed in range(5):
        splits = split_by_sentence([*pairs, one, other], seed=seed, share=0.3)
        homes = [[name for name, split in splits.items() if pair in split] for pair in (one, other)]
        assert homes[0] == homes[1]
        together |= {*homes[0]}
    assert len(together) > 1  # otherwise one split might take all pairs


def test_law_sentences_without_a_word_are_different_sentences(pairs: list[SentencePair]):
    wordless = [("?!", "Bitte?"), ("…", "Und so weiter."), ("!", "Los!")]
    for one, other in itertools.combinations(wordless, 2):
        homes = set()
        for seed in range(5):
            splits = split_by_sentence([*pairs, one, other], seed=seed, share=0.3)
            homes |= {tuple(n for pair in (one, other) for n, split in splits.items() if pair in split)}
        assert any(first != second for first, second in homes)


def test_law_splits_depend_on_the_seed_only(pairs: list[SentencePair]):
    def split(seed: int, order: list[SentencePair]) -> Splits:
        return split_by_sentence(order, seed=seed, share=SHARE)

    shuffled = random.Random(0).sample(pairs, len(pairs))
    assert shuffled != pairs
    assert split(3, shuffled) == split(3, pairs)
    assert chains(split(3, pairs)["test"]) != chains(split(4, pairs)["test"])


def test_law_a_split_is_shuffled(pairs: list[SentencePair]):
    train = split_by_sentence(pairs, share=SHARE)["train"]
    neighbors = sum(a[0].split()[1] == b[0].split()[1] for a, b in itertools.pairwise(train))
    assert neighbors < len(train) / 10  # in corpus order, five of six neighbors are in one chain


@pytest.mark.message
def test_message_too_few_families():
    pairs = [("Go!", "Geh!"), ("Go!", "Los!"), ("Run!", "Lauf!")]
    expected = "3 pairs that fall into 2 families leave the split val empty at share=0.01; give more or"
    with pytest.raises(ValueError, match=expected):
        split_by_sentence(pairs)
