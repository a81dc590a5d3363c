"""What grows out of merges, and which pairs are a family."""

from annotated_transformer.book.chapters.text_to_batches import figures as figures


def test_law_a_tree_has_the_merges_of_its_word_in_their_order():
    merges = [("s", "t"), ("e", "st"), ("w", "e")]
    assert figures.grow("west", merges) == [(1, 3, "st"), (2, 2, "est")]


def test_law_a_family_follows_common_sentences_to_its_end():
    pairs = [("a", "x"), ("b", "y"), ("b", "x"), ("c", "z")]
    assert figures.family_of(pairs, 0) == [True, True, True, False]
