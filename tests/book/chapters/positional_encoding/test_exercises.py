"""The checks of the positional-encoding exercises accept right answers and reject plausible wrong ones."""

import copy
import math

import torch

from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.positional_encoding import rotation
from tests.solutions import Solutions

solved = Solutions("positional_encoding")
edited = solved.edited
ORIGIN = {
    "first row": [0, 1, 0, 1, 0, 1],
    "squared length": 3,
    "learned numbers": 0,
    "product with itself": 3,
}


def halved(length, d_model):
    table = solved.positions(length, d_model)
    return torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)


def along_the_batch(embedded, table, start):
    root = math.sqrt(embedded.size(-1))
    return embedded * root + table[start : start + embedded.size(0), None]


def scaled_sum(embedded, table, start):
    return (embedded + table[start : start + embedded.size(1)]) * math.sqrt(embedded.size(-1))


def head(turn, loudness=8.0, *, num_heads=1):
    def build(offset, d_model):
        layer = MultiHeadAttention(d_model, num_heads, d_k=d_model).double()
        with torch.no_grad():
            layer.to_query.weight[:d_model] = loudness * turn(offset, d_model)
            layer.to_key.weight[:d_model] = loudness * torch.eye(d_model)
        return layer

    return build


def looking_back(offset, d_model):
    return rotation(-offset, d_model)


def in_place(layer):
    with torch.no_grad():
        layer.weight.copy_(torch.cat([layer.weight[:, 0::2], layer.weight[:, 1::2]], dim=1))
    return layer


def split_layer(layer):
    """Read sines and cosines with a matrix each."""
    even, odd, bias = layer.weight[:, 0::2], layer.weight[:, 1::2], layer.bias
    return lambda x: x[..., : even.size(1)] @ even.T + x[..., even.size(1) :] @ odd.T + bias


RIGHT = {
    "origin": [ORIGIN | {"first row": torch.tensor([0.0, 1, 0, 1, 0, 1])}],
    "look_back": [head(looking_back), head(looking_back, loudness=30.0)],
    "halves": [split_layer],
}
WRONG = {
    "origin": [
        ("write down sine and cosine of each angle at position 0", ORIGIN | {"first row": [0] * 6}),
        ("add up the squares of the first row", ORIGIN | {"squared length": 6}),
        ("add up the squares of sine and cosine for each pair", ORIGIN | {"product with itself": 1}),
        ("the whole table follows from a formula", ORIGIN | {"learned numbers": 6}),
    ],
    "sinusoids": [
        ("all sines come first, and all cosines after them", halved),
        ("positions are columns", lambda n, d: solved.positions(n, d).T),
    ],
    "input": [
        ("positions are counted along the batch, not along the tokens", along_the_batch),
        ("the positions are scaled, too", scaled_sum),
    ],
    "turn": [
        ("the offset has the wrong sign", edited("turn", "[c, s], [-s, c]", "[c, -s], [s, c]")),
        ("for d_model=6, the answer should be a 6 × 6 tensor, not one", lambda k, d: solved.turn(k, 2)),
    ],
    "look_back": [
        ("each weight on the position 1 before should be above 0.9", head(rotation)),
        ("The largest weight is the right one;", head(looking_back, loudness=1.0)),
        ("the text asks for one head, whose weights are read here;", head(looking_back, num_heads=2)),
    ],
    "halves": [
        ("the columns are still in the old order", copy.deepcopy),
        ("the layer that you were given was changed;", in_place),
    ],
}
