"""Checks of the exercises of the chapter on the Transformer (sections 3 and 6.2 of the paper)."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from annotated_transformer.book.exercises.verdict import expect, expect_close, judge

Layer = Callable[..., Tensor]
PREDICTED = {
    "z": (7, 512),
    "encoder weights": (8, 7, 7),
    "cross-attention weights": (8, 5, 7),
    "logits": (5, 37_000),
}


@judge
def check_pass_shapes(answer: Mapping[str, object]) -> str:
    """Judge the predicted shapes, exercise ex-predict-pass."""
    for name, wanted in PREDICTED.items():
        prediction = answer.get(name, ...)
        expect(prediction is not ..., f"{name!r} is still empty.")
        hint = "Rows are queries, columns are keys." if "weights" in name else "There is one row per token."
        expect(prediction == wanted, f"{name!r} is not {prediction}. {hint}")
    return "the two lengths meet in the weights of cross-attention."


@judge
def check_assembled(answer: Callable[..., Tensor]) -> str:
    """Judge `answer(src, tgt, embed, encoder, decoder, table)`, exercise ex-assemble: order matters."""
    rng = torch.Generator().manual_seed(0)
    for m, n, d, vocab, layers in ((4, 3, 6, 11, 2), (2, 5, 4, 7, 3)):
        table = torch.randn(vocab, d, generator=rng, dtype=torch.float64)
        turns = [torch.randn(d, d, generator=rng, dtype=torch.float64) for _ in range(3 * layers)]

        def embed(ids: Tensor, table: Tensor = table) -> Tensor:
            return table[ids] + torch.arange(len(ids), dtype=torch.float64)[:, None]

        def encoder_layer(turn: Tensor) -> Layer:
            return lambda x: (x @ turn).tanh()

        def decoder_layer(turn: Tensor, cross: Tensor) -> Layer:
            return lambda below, memory: (below @ turn + (memory @ cross).mean(dim=0)).tanh()

        encoder = [encoder_layer(turn) for turn in turns[:layers]]
        decoder = [decoder_layer(*turns[layers + 2 * i : layers + 2 * i + 2]) for i in range(layers)]
        src, tgt = (torch.randint(vocab, (size,), generator=rng) for size in (m, n))
        z, y = embed(src), embed(tgt)
        for layer in encoder:
            z = layer(z)
        for layer in decoder:
            y = layer(y, z)
        result = answer(src, tgt, embed, encoder, decoder, table)
        expect_close(
            result, (y @ table.T).softmax(dim=-1), what=f"the result for m={m}, n={n}", tolerance=1e-9
        )
    return "the encoder is finished before the decoder begins, and each decoder layer reads z."


@judge
def check_unique_count(answer: Callable[[nn.Module], int]) -> str:
    """Judge `answer(model)`, exercise ex-debug-count: the number of unique parameters."""
    tied = nn.Sequential(nn.Embedding(11, 4), nn.Linear(4, 11, bias=False))
    tied[1].weight = tied[0].weight
    layer = nn.Linear(3, 3)
    cases = (
        ("a tied model", tied, 44),
        ("a model with buffers", nn.BatchNorm1d(7), 14),
        ("one layer used twice", nn.ModuleList([layer, layer]), 12),
        ("two equal layers", nn.ModuleList([nn.Linear(3, 3, bias=False) for _ in range(2)]), 18),
    )
    for name, model, right in cases:
        count = answer(model)
        expect(count == right, f"{name} has {right} parameters, not {count}.")
    return "each parameter counts once, and buffers do not count."


@judge
def check_interval(answer: Callable[[int, int, int], Sequence[int]]) -> str:
    """Judge `answer(rest, d, millions)`, exercise ex-derive-interval, also with ends that divide evenly."""
    for rest, d, millions in ((44_101_632, 512, 65), (7_357_440, 256, 28), (10, 3, 2), (10**6, 250, 2)):
        low, high = answer(rest, d, millions)
        for size, fits in ((low - 1, False), (low, True), (high, True), (high + 1, False)):
            total = rest + size * d
            inside = 1e6 * millions - 5e5 <= total < 1e6 * millions + 5e5
            expect(
                inside == fits,
                f"{size:,} tokens make {total:,} parameters, which "
                f"{'rounds' if inside else 'does not round'} to {millions} million.",
            )
    return "the interval is a million parameters wide, so about a million / d tokens."


@judge
def check_decoder_only(answer: Callable[[int, int, int, int], int]) -> str:
    """Judge `answer(vocab, positions, layers, d)`, exercise ex-extend-gpt, against PyTorch's layers."""
    for vocab, positions, layers, d in ((11, 5, 2, 4), (50_257, 1024, 12, 768), (7, 3, 1, 8)):
        with torch.device("meta"):
            layer = nn.TransformerEncoderLayer(d, 1, 4 * d)
        per_layer = sum(parameter.numel() for parameter in layer.parameters())
        right = (vocab + positions) * d + layers * per_layer + 2 * d
        count = answer(vocab, positions, layers, d)
        expect(count == right, f"for {(vocab, positions, layers, d)} it should be {right:,}, not {count:,}.")
    return "with GPT-2's sizes it is 124,439,808."
