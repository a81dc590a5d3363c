"""Which sentence pairs are left out, and splits: no two share a sentence, and every pair is in one."""

# ruff: noqa: RUF001 (sentences of several languages)

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

REASONS = {"empty": [(0, 0), (0, 11)], "mismatched": [(1, 7), (11, 37), (1, 7)], None: [(1, 6), (11, 36)]}


def test_law_pairs_are_mismatched_beyond_three_times_plus_three_words_and_each_is_kept_or_counted():
    pairs = {
        reason: [(" \t" + "a " * shorter, "b " * longer) for shorter, longer in lengths]
        for reason, lengths in REASONS.items()
    }
    for reason, of_reason in pairs.items():
        for pair in of_reason:
            assert filter_reason(pair) == filter_reason(pair[::-1]) == reason
    assert keep_usable([*itertools.chain(*pairs.values())]) == (pairs[None], {"empty": 2, "mismatched": 3})


@pytest.mark.parametrize("text", ["有志者事竟成。", "รถไฟของเราออกพรุ่งนี้เช้าเวลาเจ็ดโมงครึ่ง"])
def test_law_translations_are_usable_in_languages_without_spaces(text: str):
    pair = ("Our train leaves at half past seven tomorrow.", text)
    assert filter_reason(pair) == filter_reason(pair[::-1]) is None
    assert filter_reason((pair[0], f"{text} " * 12)) == "mismatched"


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


def homes(pairs: list[SentencePair], *looked_for: SentencePair) -> set[tuple[str, ...]]:
    """Return, for each of five seeds, the splits of the pairs looked for."""
    of_seeds = [split_by_sentence([*pairs, *looked_for], seed=seed, share=0.3) for seed in range(5)]
    return {tuple(n for pair in looked_for for n, split in s.items() if pair in split) for s in of_seeds}


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
def test_law_sentences_that_differ_in_case_and_punctuation_are_the_same(pairs, one, other):
    splits = homes(pairs, one, other)
    assert all(first == second for first, second in splits)
    assert len(splits) > 1  # otherwise one split might take all pairs


def test_law_sentences_without_a_word_are_different_sentences(pairs: list[SentencePair]):
    wordless = [("?!", "Bitte?"), ("…", "Und so weiter."), ("!", "Los!")]
    for two in itertools.combinations(wordless, 2):
        assert any(first != second for first, second in homes(pairs, *two))


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
@pytest.mark.parametrize(
    ("pairs", "families"),
    [
        ([("I live in Delhi.", "मैं दिल्ली में हूँ।"), ("Me, too.", "मैं दिल्ला में हूँ।")], 2),  # one vowel sign
        ([("Hello, world.", "你好，世界。"), ("Hi!", "你好世界！")], 1),
        ([("Go!", "Geh!"), ("Go!", "Los!"), ("Run!", "Lauf!")], 2),
    ],
    ids=["vowel signs", "punctuation", "a shared sentence"],
)
def test_message_too_few_families(pairs: list[SentencePair], families: int):
    expected = f"{len(pairs)} pairs that fall into {families} families leave the split val empty at share=0.0"
    with pytest.raises(ValueError, match=expected):
        split_by_sentence(pairs)
