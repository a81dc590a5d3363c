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


def mixed_sentences(query, *others):
    return solved.multi_head(query, *others) + query.mean(dim=0)


def with_bias(layer, x):
    bias = layer.to_output.bias
    return solved.contributions(layer, x) + (0.0 if bias is None else bias)


def by_damage(layer, x):
    answer = solved.contributions(layer, x)
    with torch.no_grad():
        layer.to_output.weight.zero_()
    return answer


def without_any_bias(layer, x):
    """Drop the biases of the projections, which are part of the heads' contributions."""
    bare = MultiHeadAttention(6, 3, d_k=5, d_v=2).double()
    bare.load_state_dict({name: p for name, p in layer.state_dict().items() if "bias" not in name})
    return solved.contributions(bare, x)


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
        ("the predictions should be a dictionary, not list", [1, 2]),
    ],
    "split_heads": [
        ("mixes the columns of several heads", lambda x, h: x.view(x.size(0), h, x.size(1), -1)),
        ("in the result for shape (2, 5, 21) and 3 heads, a head's", strided),
        ("for shape (2, 5, 21) and 3 heads has the axes", edited("split", ".transpose(1, 2)", "")),
        ("only the first sentence is returned", lambda x, h: solved.split(x, h)[:1]),
        ("is something rounded, or is a small term", lambda x, h: solved.split(x, h) + 1e-3),
    ],
    "multi_head": [
        ("divided by √d_model", edited("multi_head", "q.size(-1)", "query.size(-1)")),
        ("the axes are not swapped back", edited("multi_head", *NOT_SWAPPED_BACK)),
        ("one sentence depends on the other", mixed_sentences),
        ("your function, for 1 head with d_k=12 and d_v=12, 4", lambda query, *_: query[:, :2]),
    ],
    "repaired": [
        ("neither bug is repaired", edited("repaired", *VIEWED, *NOT_SWAPPED_BACK)),
        ("the axes are not swapped back", edited("repaired", *NOT_SWAPPED_BACK)),
    ],
    "one_head_errors": [
        ("the error is taken to be one minus the weight", lambda w: 1 - w),
        ("the formula is that for two items", lambda w: (1 - w) ** 2 / (w**2 + (1 - w) ** 2)),
        ("is something rounded, or is a small term", lambda w: solved.errors_of_read_outs(w) + 1e-6),
        ("the mean of the errors is returned", lambda w: solved.errors_of_read_outs(w).mean()),
    ],
    "contributions": [
        ("divided evenly among the heads", lambda layer, x: torch.stack([layer(x, x, x) / 3] * 3)),
        ("these are the heads themselves", edited("contributions", "head @ block for", "head for")),
        ("with biases has the bias of the output map in each term", with_bias),
        ("the biases of queries, keys, and values are left out", without_any_bias),
        ("changed the layer's parameters", by_damage),
    ],
    "pointers": [
        ("error should be less than 0.01", lambda: pointers(loudness=1.0), draw_batch),
        ("0.00 for the first item named", lambda: pointers(second=0), draw_batch),
        ("return a MultiHeadAttention, not Linear", lambda: torch.nn.Linear(10, 10), draw_batch),
    ],
}
