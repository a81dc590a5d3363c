"""Distances: the queries are the last of the keys' positions."""

import pytest
import torch

from annotated_transformer.modern.distances import distances, first_query


def test_law_distances_by_hand():
    query, key = torch.zeros(2, 3, 7), torch.zeros(2, 5, 7)
    assert first_query(query, key) == 2
    expected = [[-2, -1, 0, 1, 2], [-3, -2, -1, 0, 1], [-4, -3, -2, -1, 0]]
    assert distances(query, key).tolist() == expected


@pytest.mark.message
def test_message_more_queries_than_keys():
    sentence = r"^5 queries but 3 keys, so the queries are not the last of .* as self-attention only$"
    with pytest.raises(ValueError, match=sentence):
        distances(torch.zeros(2, 5, 7), torch.zeros(2, 3, 7))
