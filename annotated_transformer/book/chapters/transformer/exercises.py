"""Checks of the exercises of the chapter on the Transformer (sections 3 and 6.2 of the paper)."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.verdict import expect_close, expect_number, judge, plural

Layer = Callable[..., Tensor]


@predictions(put="a shape", shows="the two lengths meet in the weights of cross-attention.")
def check_pass_shapes() -> Answers:
    """Judge the predicted shapes, exercise ex-predict-pass."""
    heads, swapped = "the axis of the heads is missing", "rows and columns are swapped"
    return {
        "z": Answer((7, 512), "There is one row for each source token.",
            {"there is a row for each target token": (5, 512), "it is divided among the heads": (8, 7, 64)}),
        "encoder weights": Answer((8, 7, 7), "Each head has a row for each query and a column for each key.",
            {heads: (7, 7), "they are those of the decoder": (8, 5, 5)}),
        "cross-attention weights": Answer((8, 5, 7),
            "In each head, rows are queries, from the target, and columns are keys.", {heads: (5, 7),
            swapped: (8, 7, 5)}),
        "logits": Answer((5, 37_000), "There is one row for each target token.",
            {"there is a row for each source token": (7, 37_000),
            "they are what the logits are made of": (5, 512)}),
    }  # fmt: skip


def _logits(y: Tensor, decoder: Sequence[Layer], table: Tensor, read: Sequence[Tensor]) -> Tensor:
    for layer, z in zip(decoder, read, strict=True):
        y = layer(y, z)
    return y @ table.T


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
        states = [embed(src)]
        for layer in encoder:
            states.append(layer(states[-1]))

        logits = partial(_logits, embed(tgt), decoder, table)
        right = logits([states[-1]] * layers)
        mistakes = {
            "each decoder layer reads the encoder layer beside it; all read the last one": logits(
                states[1:]
            ).softmax(dim=-1),
            "the decoder reads the embeddings of the source": logits([states[0]] * layers).softmax(dim=-1),
            "these are the logits; the softmax is missing": right,
            "the softmax runs over the tokens instead of the vocabulary": right.softmax(dim=0),
            "these are the logarithms of the probabilities": right.log_softmax(dim=-1),
        }
        result = answer(src, tgt, embed, encoder, decoder, table)
        what = f"the result for {plural(m, 'source token')} and {plural(n, 'target token')}"
        expect_close(result, right.softmax(dim=-1), what=what, tolerance=1e-9, mistakes=mistakes)
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
        tensors = [tensor.numel() for tensor in model.state_dict().values()]
        parameters = list(model.parameters())
        each = sum(parameter.numel() for parameter in parameters)
        shapes = {parameter.shape: parameter.numel() for parameter in parameters}
        mistakes = {
            "buffers count": each + sum(buffer.numel() for buffer in model.buffers()),
            "a shared matrix counts once for each of its names": sum(tensors),
            "matrices of equal shape count once": sum(shapes.values()),
        }
        what = f"the count for {name}"
        expect_number(answer(model), right, what=what, tolerance=0.0, mistakes=mistakes)
    return "each parameter counts once, and buffers do not count."


@formula(
    *((44_101_632, 512, 65), (7_357_440, 256, 28), (10, 3, 2), (10**6, 250, 2)),
    shows="the interval is a million parameters wide, so about a million / d tokens.",
)
def check_interval(rest: int, d: int, millions: int) -> Answer:
    """Judge `answer(rest, d, millions)`, exercise ex-derive-interval, also with ends that divide evenly."""
    start = 1_000_000 * millions - 500_000 - rest

    def ends(start: int) -> list[int]:
        return [-(-start // d), -(-(start + 1_000_000) // d) - 1]

    low, high = ends(start)
    mistakes = {
        "a part of a token is taken to be enough; round the lower end up": [low - 1, high],
        "the upper end rounds to the next million": [low, high + 1],
        "the printed count is taken to be rounded down": ends(start + 500_000),
    }
    return Answer([low, high], "Which counts round to this one, and how much of them is rest?", mistakes)


@formula(
    *((50_257, 1024, 12, 768), (11, 5, 2, 4), (7, 3, 1, 8)), shows="with GPT-2's sizes it is 124,439,808."
)
def check_decoder_only(vocab: int, positions: int, layers: int, d: int) -> Answer:
    """Judge `answer(vocab, positions, layers, d)`, exercise ex-extend-gpt, against PyTorch's layers."""
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(d, 1, 4 * d)
    per_layer = sum(parameter.numel() for parameter in layer.parameters())
    right = (vocab + positions) * d + layers * per_layer + 2 * d
    mistakes = {
        "the output has a matrix of its own; it is shared with the embedding": right + vocab * d,
        "the biases of the linear maps are missing": right - layers * 9 * d,
        "the final norm is missing": right - 2 * d,
        "the norms of the layers are missing": right - layers * 4 * d,
        "the positional embeddings are missing": right - positions * d,
        "a layer also has cross-attention": right + layers * (4 * d * d + 4 * d),
    }
    return Answer(right, "Count both embeddings, the layers with two norms, and a final norm.", mistakes)
