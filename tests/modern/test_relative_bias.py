"""Relative bias: clipped distances by hand, and T5's buckets against Hugging Face's."""

import pytest
import torch

from annotated_transformer.modern.distances import distances
from annotated_transformer.modern.relative_bias import BucketedBias, RelativeBias, distance_buckets

HEADS = 3


def far(tokens):
    return distances(*torch.zeros(2, tokens, 1))


def test_law_clipped_distances_by_hand(randomized):
    bias = randomized(RelativeBias(HEADS, 2))
    biases = bias(far(5))
    assert biases.shape == (HEADS, 5, 5)
    for head in range(HEADS):
        row = bias.table[head].tolist()  # of the distances -2, -1, 0, 1, 2
        assert biases[head, 0].tolist() == [row[2], row[3], row[4], row[4], row[4]]
        assert biases[head, 4].tolist() == [row[0], row[0], row[0], row[1], row[2]]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (8, 20), (16, 50)])
def test_oracle_buckets_match_hugging_faces_t5(num_buckets, max_distance, causal):
    from transformers.models.t5.modeling_t5 import T5Attention

    theirs = T5Attention._relative_position_bucket(far(211), not causal, num_buckets, max_distance)
    ours = distance_buckets(far(211), num_buckets, max_distance, causal=causal)
    assert torch.equal(ours, theirs)
    assert len(ours.unique()) == num_buckets - (not causal)  # no key after the query has distance 0


def test_law_the_bias_of_a_bucket_is_its_column(randomized):
    bias = randomized(BucketedBias(HEADS, 8, 20, causal=False))
    buckets = distance_buckets(far(30), 8, 20, causal=False)
    biases = bias(far(30))
    for i, j in ((0, 29), (7, 3), (3, 7), (5, 5)):
        assert torch.equal(biases[:, i, j], bias.table[:, buckets[i, j]])
    assert buckets[7, 3] != buckets[3, 7]
