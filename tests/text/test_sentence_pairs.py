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


@pytest.mark.parametrize(
    ("shorter", "longer", "reason"),
    [
        (0, 0, "empty"),
        (0, 11, "empty"),
        (1, 6, None),
        (1, 7, "mismatched"),
        (11, 36, None),
        (11, 37, "mismatched"),
    ],
)
def test_law_pairs_are_mismatched_beyond_three_times_plus_three_words(shorter, longer, reason):
    pair = (" \t" + "a " * shorter, "b " * longer)
    assert filter_reason(pair) == filter_reason(pair[::-1]) == reason


def test_law_each_pair_is_kept_or_counted_once():
    good = [("One.", "Eins."), ("Run!", "Lauf doch bitte schnell weg!")]
    empty = [("", "Nichts."), ("", "eins zwei drei vier"), (" ", "")]
    mismatched = [("Yes.", "Das ist gewiss keine Übersetzung davon, oder?")] * 2
    pairs = [*empty, good[0], *mismatched, good[1]]
    assert keep_usable(pairs) == (good, {"empty": 3, "mismatched": 2})


# In each pair of translations, words between spaces differ more than threefold, or say nothing.
TRANSLATIONS = [
    ("Where there is a will, there is a way.", "有志者事竟成。"),
    ("I would like to learn Python next year.", "来年はPythonを勉強したいと思っています。"),
    ("Our train leaves at half past seven tomorrow morning.", "รถไฟของเราออกพรุ่งนี้เช้าเวลาเจ็ดโมงครึ่ง"),
    ("I read a book at the library yesterday.", "저는 어제 도서관에서 책을 읽었습니다."),
    ("My brother lives in a small village.", "मेरा भाई एक छोटे से गाँव में रहता है।"),
    ("他从去年春天起就一直住在北京。", "彼は去年の春からずっと北京に住んでいます。"),
]


@pytest.mark.parametrize("pair", TRANSLATIONS, ids=[pair[0] for pair in TRANSLATIONS])
def test_law_translations_are_usable_in_languages_with_and_without_spaces(pair: SentencePair):
    assert filter_reason(pair) == filter_reason(pair[::-1]) is None
    for one, other in (pair, pair[::-1]):
        assert filter_reason((one, f"{other} " * 12)) == "mismatched"


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
    found = [split_by_sentence([*pairs, *looked_for], seed=seed, share=0.3) for seed in range(5)]
    return {tuple(n for pair in looked_for for n, split in s.items() if pair in split) for s in found}


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
    found = homes(pairs, one, other)
    assert all(first == second for first, second in found)
    assert len(found) > 1  # otherwise one split might take all pairs


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
