"""Checks of the exercises of the chapter on the encoder (sections 3 and 3.1 of the paper)."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.verdict import expect, expect_close, judge
from annotated_transformer.config import BASE, TransformerConfig
from annotated_transformer.model.transformer import Transformer

Layer = Callable[[Tensor, Tensor | None], Tensor]
STACKS = {
    "the layer without a mask": (True, True, True, True),
    "the layer with a causal mask": (False, False, True, True),
    "the feed-forward network": (False, False, True, False),
}


@judge
def check_change(answer: Sequence[Sequence[bool]] | None) -> str:
    """Judge which positions are predicted to change, exercise ex-predict-change."""
    expect(answer is not None, "your answer is still empty; put three rows of four in its place.")
    rows = [tuple(map(bool, row)) for row in answer or ()]
    expect([len(row) for row in rows] == [4] * 3, "give three rows of four, one for each stack.")
    for (name, wanted), row in zip(STACKS.items(), rows, strict=True):
        for place, (got, right) in enumerate(zip(row, wanted, strict=True)):
            expect(got == right, f"for {name}, position {place} is wrong. May it attend to word 2?")
    return "words exchange information in attention, as far as the mask allows."


@judge
def check_encoder_layer(answer: Callable[[Tensor, Mapping[str, Tensor], int], Tensor]) -> str:
    """Judge `answer(x, w, heads)`, exercise ex-encoder-layer, by PyTorch's layer."""
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
        what = f"the output for {tokens} tokens of width {width} and {heads} head(s)"
        expect_close(answer(x, w, heads), wanted, what=what, tolerance=1e-9)
    return "it agrees with PyTorch's encoder layer."


@judge
def check_mean_of_words(answer: Callable[[Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(z, is_word)`, exercise ex-mean-pool."""
    z = draw_normal(0, 3, 5, 4)
    lengths = (5, 2, 1)
    is_word = torch.arange(5) < torch.tensor(lengths)[:, None]
    wanted = torch.stack([z[i, :length].mean(dim=0) for i, length in enumerate(lengths)])
    expect_close(answer(z, is_word), wanted, what="the mean", tolerance=1e-9)
    corrupted = z.masked_fill(~is_word[..., None], float("nan"))
    expect_close(answer(corrupted, is_word), wanted, what="the mean with NaN in the padding", tolerance=1e-9)
    return "padding has no influence, whatever stands there."


@judge
def check_stack(answer: Callable[[Tensor, Sequence[Layer], Tensor], Tensor]) -> str:
    """Judge `answer(x, layers, mask)`, exercise ex-debug-encode."""
    x, mask = torch.arange(6, dtype=torch.float64).view(1, 3, 2), torch.tensor([True, True, False])
    seen: list[Tensor | None] = []

    def layer(factor: float) -> Layer:
        def apply(x: Tensor, mask: Tensor | None) -> Tensor:
            seen.append(mask)
            return factor * x + 1

        return apply

    result = answer(x, [layer(2.0), layer(3.0), layer(5.0)], mask)
    expect_close(result, 5 * (3 * (2 * x + 1) + 1) + 1, what="the output of three layers", tolerance=1e-9)
    expect(len(seen) == 3, f"three layers were called {len(seen)} times; call each once.")
    expect(all(given is mask for given in seen), "a layer did not get the mask.")
    return "each layer reads the one below, and each gets the mask."


@judge
def check_count(answer: Callable[[int, int, int, int, int, int], int]) -> str:
    """Judge `answer(N, d_model, d_ff, h, d_k, d_v)`, exercise ex-count-weights, by counting."""
    small = {"vocab_size": 5, "max_length": 3, "num_layers": 2, "d_model": 6, "num_heads": 3}
    shapes = (TransformerConfig(**small, d_ff=7, d_k=5, d_v=4), TransformerConfig(**small, d_ff=11), BASE)  # type: ignore[arg-type]
    for c in shapes:
        with torch.device("meta"):
            encoder = Transformer(c).encoder
        wanted = sum(parameter.numel() for parameter in encoder.parameters())
        split = c.d_model // c.num_heads
        sizes = c.num_layers, c.d_model, c.d_ff, c.num_heads, c.d_k or split, c.d_v or split
        count = answer(*sizes)
        names = "N={}, d_model={}, d_ff={}, h={}, d_k={}, d_v={}".format(*sizes)
        expect(count == wanted, f"for {names} your answer is {count:,}, but there are {wanted:,}.")
    return "it agrees with three models, one of them the paper's."


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
        accuracy = answer([text.split() for text in texts.split(", ")], labels)
        expect(
            abs(accuracy - wanted) < 1e-9,
            f"for the texts {texts} with labels {labels} your answer is {accuracy:.4f}, not {wanted:.4f}.",
        )
    return "no classifier of bags does better, and one does as well."
