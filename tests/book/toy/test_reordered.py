"""The toy language for cross-attention: its size, word order, and alignment."""

from annotated_transformer.book.toy.reordered import (
    TRANSLATIONS,
    padded_ids,
    reordered_pairs,
    reordered_vocabulary,
)

PAIRS = reordered_pairs()


def test_law_all_sentences_are_distinct():
    assert len(PAIRS) == (6 * 6) * 6 * (6 * 6)
    assert len({pair.source for pair in PAIRS}) == len({pair.target for pair in PAIRS}) == len(PAIRS)


def test_law_adjectives_follow_their_noun_and_the_verb_is_last():
    (pair,) = (pair for pair in PAIRS if pair.source == "young dog paints red potato")
    assert pair.target == "chien jeune pomme de terre rouge peint"
    assert pair.alignment == {(1, 0), (0, 1), (4, 2), (4, 3), (4, 4), (3, 5), (2, 6)}
    (pair,) = (pair for pair in PAIRS if pair.source == "cat sees sad key")
    assert pair.target == "chat clef triste voit"
    assert pair.alignment == {(0, 0), (3, 1), (2, 2), (1, 3)}


def test_oracle_aligned_words_translate_each_other():
    for pair in PAIRS[::31]:
        source, target = pair.source.split(), pair.target.split()
        assert sorted(number for _, number in pair.alignment) == list(range(len(target)))
        assert {place for place, _ in pair.alignment} == set(range(len(source)))
        assert all(target[number] in TRANSLATIONS[source[place]].split() for place, number in pair.alignment)


def test_law_ids_are_padded_and_decode_to_the_pairs():
    vocabulary = reordered_vocabulary()
    some = [pair for pair in PAIRS if pair.source in ("dog sees pear", "wise bear paints red potato")]
    for ids, texts in zip(
        padded_ids(some, vocabulary), zip(*((p.source, p.target) for p in some), strict=True), strict=True
    ):
        assert [vocabulary.decode(row.tolist()) for row in ids] == list(texts)
        assert (ids[0] == 0).any()
        assert not (ids[1] == 0).any()
