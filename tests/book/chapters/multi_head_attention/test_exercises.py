"""The checks of the multi-head chapter accept right answers and reject mistakes."""

import torch

from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from tests.solutions import Solutions

solved = Solutions("multi_head_attention")
edited = solved.edited
SHAPES = {"queries": (2, 3, 4, 5), "weights": (2, 3, 4, 7), "heads": (2, 3, 4, 2), "concat": (2, 4, 6)}
SHAPES |= {"output": (2, 4, 12), "parameters": 504}


def strided(x, h):
    return x.view(*x.shape[:2], -1, h).permute(0, 3, 1, 2)


def draw_batch(rng, size):
    """Return queries naming two of 5 items, keys marking the items, contents of width 5, and the targets."""
    named = torch.rand(size, 5, generator=rng).argsort(-1)[:, :2]
    contents, marks = torch.randn(size, 5, 5, generator=rng), torch.eye(5)
    query, key, value = torch.zeros(size, 1, 20), torch.zeros(size, 5, 20), torch.zeros(size, 5, 20)
    query[:, 0, :10], key[..., :5], value[..., :5] = marks[named].flatten(1), marks, contents
    return query, key, value, contents[torch.arange(size)[:, None], named].reshape(size, 1, 10)


def pointers(loudness=90.0, second=5):
    layer = MultiHeadAttention(20, 2)
    with torch.no_grad():
        for matrix in layer.parameters():
            matrix.zero_()
        for row, mark, place in ((0, 0, 10), (10, second, 15)):
            layer.to_query.weight[row : row + 5, mark : mark + 5] = loudness * torch.eye(5)
            layer.to_key.weight[row : row + 5, :5] = torch.eye(5)
            layer.to_value.weight[row : row + 5, :5] = torch.eye(5)
            layer.to_output.weight[place : place + 5, row : row + 5] = torch.eye(5)
    return layer


def contributions_by_silence(layer, x):
    """Leave one head at a time in the input of the output map."""
    read = layer.attention(layer.project_query(x), *layer.project_memory(x, x))
    kept = torch.eye(layer.num_heads, dtype=x.dtype)[:, None, :, None, None] * read
    return kept.transpose(2, 3).flatten(3) @ layer.to_output.weight.T


RIGHT = {
    "shapes": [SHAPES | {"output": torch.Size([2, 4, 12])}],
    "contributions": [contributions_by_silence],
    "pointers": [(lambda: pointers().double(), draw_batch)],
}
NOT_SWAPPED_BACK = "read.transpose(1, 2).flatten(2)", "read.reshape(read.size(0), read.size(2), -1)"
VIEWED = "x.unflatten(-1, (num_heads, -1)).transpose(1, 2)", "x.view(len(x), num_heads, x.size(1), -1)"
WRONG = {
    "shapes": [
        ("The axis of the heads comes before that of the queries", SHAPES | {"queries": (2, 4, 3, 5)}),
        ("how wide are all queries, keys, and values together?", SHAPES | {"parameters": 576}),
    ],
    "split_heads": [
        ("mixes the columns of several heads", lambda x, h: x.view(x.size(0), h, x.size(1), -1)),
        ("in the result for shape (2, 5, 21) and 3 heads, a head's", strided),
    ],
    "multi_head": [
        ("divided by √d_model", edited("multi_head", "q.size(-1)", "query.size(-1)")),
        ("the axes are not swapped back", edited("multi_head", *NOT_SWAPPED_BACK)),
    ],
    "repaired": [
        ("neither bug is repaired", edited("repaired", *VIEWED, *NOT_SWAPPED_BACK)),
        ("the axes are not swapped back", edited("repaired", *NOT_SWAPPED_BACK)),
    ],
    "one_head_errors": [
        ("the error is taken to be one minus the weight", lambda w: 1 - w),
        ("the formula is that for two items", lambda w: (1 - w) ** 2 / (w**2 + (1 - w) ** 2)),
    ],
    "contributions": [
        ("divided evenly among the heads", lambda layer, x: torch.stack([layer(x, x, x) / 3] * 3)),
        ("these are the heads themselves", edited("contributions", "head @ block for", "head for")),
    ],
    "pointers": [
        ("error should be less than 0.01", lambda: pointers(loudness=1.0), draw_batch),
        ("0.00 for the first item named", lambda: pointers(second=0), draw_batch),
    ],
}
