"""Toy reviews: the rating is the sum of the opinions, and word counts alone do not determine it."""

import pytest
import torch

from annotated_transformer.book.chapters.encoder.reviews import (
    ASPECTS,
    OPINIONS,
    REVIEW_WORDS,
    Review,
    all_reviews,
    encode_reviews,
    split_reviews,
)


def rating(words):
    """Return the rating of a review, computed word by word."""
    total, sign = 0, 1
    for word in words:
        total += sign * OPINIONS.get(word, 0)
        sign = -1 if word == "not" else 1
    return total


def test_law_a_rating_is_the_sum_of_the_opinions_and_not_negates_one():
    reviews = all_reviews()
    assert len({review.words for review in reviews}) == len(reviews) == 576  # 12 × (64 − 16 that cancel)
    for review in reviews:
        assert review.rating == rating(review.words) != 0
        assert sum(word in ASPECTS for word in review.words) == 2
    assert {review.rating for review in reviews} == {-4, -3, -2, -1, 1, 2, 3, 4}
    assert str(reviews[0]) == " ".join(reviews[0].words)


def test_law_the_splits_are_disjoint_and_determined_by_the_generator():
    seen, unseen = split_reviews(torch.Generator().manual_seed(0))
    assert (len(seen), len(unseen)) == (432, 144)
    assert set(seen) | set(unseen) == set(all_reviews())
    assert seen == split_reviews(torch.Generator().manual_seed(0))[0]
    assert seen != split_reviews(torch.Generator().manual_seed(1))[0]


def test_law_ids_index_the_word_list_and_short_reviews_are_padded():
    ids = encode_reviews([Review(("plot", "good"), 1), Review(("acting", "not", "bad"), 1)])
    found = [[REVIEW_WORDS[id_] for id_ in line] for line in ids.tolist()]
    assert found == [["plot", "good", "<pad>"], ["acting", "not", "bad"]]


@pytest.mark.message
def test_message_a_word_that_no_review_has():
    with pytest.raises(ValueError, match=r"do not have the words \['meh'\]; use plot, acting, .* great"):
        encode_reviews([Review(("plot", "meh"), 0)])
