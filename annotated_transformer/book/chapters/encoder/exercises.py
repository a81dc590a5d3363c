"""Checks of the exercises of the chapter on the encoder (sections 3 and 3.1 of the paper)."""

import math
from collections.abc import Callable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, equal, nn

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import Sublayer, draw_normal, mistaken_layer, run_layer
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import expect, expect_close, expect_number, judge, plural
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer

Layer = Callable[[Tensor, Tensor | None], Tensor]
Matrices = Mapping[str, Tensor]


@predictions(
    put="three rows of four", shows="words exchange information in attention, as far as the mask allows."
)
def check_change() -> Answers:
    """Judge which positions are predicted to change, exercise ex-predict-change."""
    everywhere, later, itself = [True] * 4, [False, False, True, True], [False, False, True, False]
    alone = "words are taken not to read each other, as in the feed-forward network"
    unmasked = "each word is taken to read each other one"
    return {
        "the layer without a mask": Answer(everywhere, "Which words attend to word 2 there?", {alone: itself,
            "words are taken not to read later ones, as with a causal mask": later}),
        "the layer with a causal mask": Answer(later, "Which words may attend to word 2 there?",
            {alone: itself, unmasked: everywhere,
            "words are taken to read later ones only": [True, True, True, False]}),
        "the feed-forward network": Answer(itself, "Does a word there depend on any other?",
            {unmasked: everywhere, "words are taken to read earlier ones": later}),
    }  # fmt: skip


@judge
def check_encoder_layer(answer: Callable[[Tensor, Matrices, int], Tensor]) -> str:
    """Judge `answer(x, w, heads)`, exercise ex-encoder-layer, by PyTorch's layer."""
    expect_without(answer, PACKAGE, "nn", "torch.nn.modules", "scaled_dot_product_attention")
    rng = torch.Generator().manual_seed(0)
    for tokens, width, inner, heads in ((5, 12, 7, 3), (3, 8, 20, 1), (1, 4, 4, 2)):
        oracle = nn.TransformerEncoderLayer(width, heads, inner, dropout=0.0, batch_first=True).double()
        shapes = dict.fromkeys(("query", "key", "value", "output"), (width, width))
        shapes |= {"expand": (width, inner), "contract": (inner, width)}
        w = {name: torch.randn(*s, generator=rng, dtype=torch.float64) / 2 for name, s in shapes.items()}
        with torch.no_grad():
            for name, parameter in oracle.named_parameters():
                if name.endswith("bias"):
                    parameter.zero_()
            inputs = torch.cat([w["query"].T, w["key"].T, w["value"].T])
            oracle.self_attn.in_proj_weight.copy_(inputs)
            oracle.self_attn.out_proj.weight.copy_(w["output"].T)
            oracle.linear1.weight.copy_(w["expand"].T)
            oracle.linear2.weight.copy_(w["contract"].T)
            x = torch.randn(tokens, width, generator=rng, dtype=torch.float64)
            wanted = oracle(x[None])[0]
        right = _sublayers(w, heads)
        mistakes = {
            **mistaken_layer(x, *right),
            "the scores are not divided by √d_k": run_layer(x, *_sublayers(w, heads, scale=1.0)),
            "the scores are divided by √d_model; the width of one head is d_k": (
                run_layer(x, *_sublayers(w, heads, scale=width**-0.5))
            ),
            "the ReLU is missing": run_layer(x, *_sublayers(w, heads, relu=False)),
            "the heads are cut by one `view`, without swapping axes": (
                run_layer(x, *_sublayers(w, heads, swapped=False))
            ),
        }
        what = f"the output for {plural(tokens, 'token')} of width {width} and {plural(heads, 'head')}"
        expect_close(answer(x, w, heads), wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "it agrees with PyTorch's encoder layer."


def _sublayers(
    w: Matrices, heads: int, *, scale: float | None = None, relu: bool = True, swapped: bool = True
) -> tuple[Sublayer, Sublayer]:
    """Return the attention and the network of an encoder layer, perhaps with a mistake."""

    def cut(y: Tensor) -> Tensor:
        if swapped:
            return y.unflatten(1, (heads, -1)).transpose(0, 1)
        return y.reshape(heads, len(y), -1)

    def attend(y: Tensor) -> Tensor:
        query, key, value = (cut(y @ w[name]) for name in ("query", "key", "value"))
        read = F.scaled_dot_product_attention(query, key, value, scale=scale)
        return read.transpose(0, 1).flatten(1) @ w["output"]

    def network(y: Tensor) -> Tensor:
        inner = y @ w["expand"]
        return (inner.relu() if relu else inner) @ w["contract"]

    return attend, network


@judge
def check_mean_of_words(answer: Callable[[Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(z, is_word)`, exercise ex-mean-pool."""
    z = draw_normal(0, 3, 5, 4)
    lengths = (5, 2, 1)
    is_word = torch.arange(5) < torch.tensor(lengths)[:, None]
    wanted = torch.stack([z[i, :length].mean(dim=0) for i, length in enumerate(lengths)])
    kept = z.masked_fill(~is_word[..., None], 0.0)
    mistakes = {
        "padding is averaged, too": z.mean(dim=1),
        "the sum is divided by the number of all tokens, padding included": kept.mean(dim=1),
        "the sum is not divided": kept.sum(dim=1),
    }
    result = answer(z, is_word)
    expect_close(result, wanted, what="the mean", tolerance=1e-9, mistakes=mistakes)
    result = answer(z.masked_fill(~is_word[..., None], math.nan), is_word)
    spread = isinstance(result, Tensor) and bool(result.isnan().any())
    why = "NaN in the padding reaches the mean: 0 · NaN is NaN, so a product does not remove it."
    expect(not spread, why)
    expect_close(result, wanted, what="the mean with NaN in the padding", tolerance=1e-9)
    return "padding has no influence, whatever stands there."


@judge
def check_stack(answer: Callable[[Tensor, Sequence[Layer], Tensor], Tensor]) -> str:
    """Judge `answer(x, layers, mask)`, exercise ex-debug-encode."""
    x, mask = torch.arange(24.0).view(2, 3, 4).double(), torch.arange(3) < torch.tensor([[3], [2]])
    mask = mask[:, None, None]
    seen: list[Tensor | None] = []

    def layer(factor: float) -> Layer:
        def apply(x: Tensor, mask: Tensor | None) -> Tensor:
            seen.append(None if mask is None else mask.clone())
            return factor * x + 1

        return apply

    result = answer(x, [layer(2.0), layer(3.0), layer(5.0)], mask)
    mistakes = {
        "neither bug is repaired" if None in seen else "each layer reads the embeddings": 5 * x + 1,
        "the layers are called in reverse": 2 * (3 * (5 * x + 1) + 1) + 1,
        "only the first layer is called": 2 * x + 1,
    }
    wanted = 5 * (3 * (2 * x + 1) + 1) + 1
    expect_close(result, wanted, what="the output of three layers", tolerance=1e-9, mistakes=mistakes)
    expect(len(seen) == 3, f"three layers were called {len(seen)} times; call each once.")
    given = all(isinstance(one, Tensor) and equal(one, mask) for one in seen)
    expect(given, "a layer did not get the mask.")
    return "each layer reads the one below, and each gets the mask."


@formula(
    *((2, 6, 7, 3, 5, 4), (2, 6, 11, 3, 2, 2), (6, 512, 2048, 8, 64, 64)),
    shows="a layer has four maps of attention, two with biases in its network, and two norms.",
    rules=(PACKAGE, "torch"),
)
def check_count(N: int, d_model: int, d_ff: int, h: int, d_k: int, d_v: int) -> Answer:
    """Judge `answer(N, d_model, d_ff, h, d_k, d_v)`, exercise ex-count-weights, by counting."""
    config = TransformerConfig(
        vocab_size=5, num_layers=N, d_model=d_model, d_ff=d_ff, num_heads=h, d_k=d_k, d_v=d_v
    )
    with torch.device("meta"):
        encoder = Transformer(config).encoder
    wanted = sum(parameter.numel() for parameter in encoder.parameters())
    mistakes = {
        "the biases of the feed-forward network are missing": wanted - N * (d_ff + d_model),
        "half of the norms' parameters are missing: two norms, each with a gain and a bias": wanted
        - N * 2 * d_model,
        "the norms are missing": wanted - N * 4 * d_model,
        "N is not used": wanted // N,
        "the attention projections are given biases": wanted + N * (2 * h * d_k + h * d_v + d_model),
        "W^O is missing": wanted - N * h * d_v * d_model,
        "one head is counted": wanted - N * (h - 1) * 2 * d_model * (d_k + d_v),
    }
    return Answer(wanted, "Count four maps of attention, two of the network, and two norms.", mistakes)


@judge
def check_best_accuracy(answer: Callable[[Sequence[Sequence[str]], Sequence[object]], float]) -> str:
    """Judge `answer(texts, labels)`, exercise ex-bag-limit."""
    cases = (
        ("a b, b a, a c", ["x", "y", "x"], 2 / 3),
        ("a a b, a b b, a b a", ["x", "y", "x"], 1.0),
        ("a b c, c b a, b c a, a", [1, 2, 1, 3], 3 / 4),
        ("a, b", ["x", "x"], 1.0),
    )
    for texts, labels, wanted in cases:
        words = [text.split() for text in texts.split(", ")]
        mistakes = {
            "how often a word occurs is lost, as in a set": _by_groups(words, labels, lambda text: {*text}),
            "the order of the words is used": _by_groups(words, labels, lambda text: text),
            "all texts get the same label": _by_groups(words, labels, lambda _: 0),
        }
        what = f"the accuracy for the texts {texts} with the labels {labels}"
        expect_number(answer(words, labels), wanted, what=what, mistakes=mistakes)
    return "no classifier of bags does better, and one does as well."


def _by_groups(
    texts: Sequence[Sequence[str]], labels: Sequence[object], seen: Callable[[Sequence[str]], object]
) -> float:
    """Return the best accuracy of a classifier that knows `seen(text)`."""
    groups: list[tuple[object, list[object]]] = []
    for text, label in zip(texts, labels, strict=True):
        known = [group for view, group in groups if view == seen(text)]
        if known:
            known[0].append(label)
        else:
            groups.append((seen(text), [label]))
    return sum(max(map(group.count, group)) for _, group in groups) / len(texts)
