"""The checks of the exercises on the encoder reject wrong answers."""

from functools import reduce

import torch
from torch import Tensor

from tests.solutions import Solutions

solved = Solutions("encoder")
edited = solved.edited
ALL, LATER, ONE = [True] * 4, [False, False, True, True], [False, False, True, False]


def by_product(z: Tensor, is_word: Tensor) -> Tensor:
    return (z * is_word[..., None]).sum(dim=1) / is_word.sum(dim=1, keepdim=True)


def one_call_more(x, layers, mask):
    layers[0](x, mask)
    return solved.repaired(x, layers, mask)


def same_input(x, layers, mask):
    return [layer(x, mask) for layer in layers][-1]


RIGHT = {
    "change": [torch.tensor([ALL, LATER, ONE])],
    "stack": [lambda x, layers, mask: reduce(lambda y, layer: layer(y, mask=mask.clone()), layers, x)],
}
PRE_NORM = (
    *("n, width = x.shape", "n, width = x.shape\n    stream, x = x, F.layer_norm(x, x.shape[1:])"),
    *('a = F.layer_norm(x + attended @ w["output"], (width,))', 'y = stream + attended @ w["output"]'),
    *(
        'return F.layer_norm(a + (a @ w["expand"]).relu() @ w["contract"], (width,))',
        "a = F.layer_norm(y, (width,))\n    return y + (a @ w['expand']).relu() @ w['contract']",
    ),
)
WRONG = {
    "change": [
        ("for the layer with a causal mask, position 0 does not", [ALL, [True, True, True, False], ONE]),
        ("for the layer without a mask, position 0 changes", [ONE, ONE, ONE]),
        ("for the feed-forward network, position 0 does not change", [ALL, LATER, ALL]),
        ("give three rows of four, one for each stack", [ALL, LATER]),
    ],
    "encoder_layer": [
        ("the norms come before the sub-layers", edited("encoder_layer", *PRE_NORM)),
        ("connections are missing", edited("encoder_layer", "(x + att", "(att", "(a + (a", "((a")),
    ],
    "mean_of_words": [
        ("padding is averaged, too", lambda z, is_word: z.mean(dim=1)),
        ("0 · NaN is NaN, so a product does not remove it", by_product),
    ],
    "stack": [
        ("a layer did not get the mask", lambda x, layers, mask: solved.repaired(x, layers, None)),
        ("each layer reads the embeddings", same_input),
        ("three layers were called 4 times;", one_call_more),
    ],
    "count": [
        ("the biases of the feed-forward network are missing", edited("count", " + d_ff + d_model", "")),
        ("half of the norms' parameters are missing: two norms", edited("count", "2 * 2 * d", "2 * d")),
    ],
    "best_accuracy": [
        ("how often a word occurs is lost, as", edited("best_accuracy", "sorted(text)", "sorted({*text})")),
        ("the order of the words is used", edited("best_accuracy", "sorted(text)", "text")),
    ],
}
