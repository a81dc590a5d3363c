"""The checks of the exercises on the whole Transformer reject wrong answers."""

from functools import reduce

import torch

from annotated_transformer.book.chapters.transformer.exercises import (
    PREDICTED,
    check_assembled,
    check_decoder_only,
    check_interval,
    check_pass_shapes,
    check_unique_count,
)


def assembler(*, paired=False, embedded=False):
    """Return a function that assembles a Transformer, optionally with one deliberate change."""

    def assemble(src, tgt, embed, encoder, decoder, table):
        z, y = embed(src), embed(tgt)
        states = []
        for layer in encoder:
            z = layer(z)
            states.append(z)
        read = states if paired else [embed(src) if embedded else z] * len(decoder)
        for layer, memory in zip(decoder, read, strict=True):
            y = layer(y, memory)
        return (y @ table.T).softmax(dim=-1)

    return assemble


def count(model):
    return sum(p.numel() for p in model.parameters())


def interval(rest, d, millions, *, down=False):
    low, high = (10**6 * millions + half - rest for half in (-500_000, 500_000))
    return (low // d, high // d) if down else (-(-low // d), -(-high // d) - 1)


def gpt(vocab, positions, layers, d, *, matrices=1, vectors=13):
    return (matrices * vocab + positions) * d + layers * (12 * d * d + vectors * d) + 2 * d


def by_folding(src, tgt, embed, encoder, decoder, table):
    z = reduce(lambda x, layer: layer(x), encoder, embed(src))
    y = reduce(lambda y, layer: layer(y, z), decoder, embed(tgt))
    return torch.softmax(torch.einsum("id,vd->iv", y, table), dim=1)


def by_search(rest, d, millions):
    fits = [size for size in range(850_000) if (rest + size * d + 500_000) // 1_000_000 == millions]
    return [fits[0], fits[-1]]


def moved(low, high):
    """Return a function whose interval has other ends."""
    return lambda *given: (interval(*given)[0] + low, interval(*given)[1] + high)


RIGHT = {
    check_pass_shapes: [PREDICTED, {name: [*shape] for name, shape in PREDICTED.items()}],
    check_assembled: [assembler(), by_folding],
    check_unique_count: [count, lambda model: torch.tensor(sum(p.numel() for p in set(model.parameters())))],
    check_interval: [interval, by_search],
    check_decoder_only: [gpt, lambda vocab, n, layers, d: d * (vocab + n + 2 + layers * (13 + 12 * d))],
}


WRONG = {
    check_pass_shapes: [
        ("There is one row for each source token", PREDICTED | {"z": (5, 512)}),
        (
            "In each head, rows are queries, from the target, and",
            PREDICTED | {"cross-attention weights": (8, 7, 5)},
        ),
        ("'z' should be a shape, such as (2, 3), not str.", PREDICTED | {"z": "(7, 512)"}),
        ("'z' should be a shape, such as (2, 3), not int.", PREDICTED | {"z": 512}),
    ],
    check_assembled: [
        ("each decoder layer reads the encoder layer beside it", assembler(paired=True)),
        ("the decoder reads the embeddings of the source", assembler(embedded=True)),
    ],
    check_unique_count: [
        ("buffers count", lambda model: count(model) + sum(b.numel() for b in model.buffers())),
        (
            "a shared matrix counts once for each of its names",
            lambda model: sum(t.numel() for t in model.state_dict().values()),
        ),
    ],
    check_interval: [
        ("A part of a token is not enough:", lambda *given: interval(*given, down=True)),
        (
            "2,000 tokens make 1,500,000 parameters, which rounds to 2",
            lambda rest, d, millions: (
                (10**6 * millions - 500_000 - rest) // d + 1,
                interval(rest, d, millions)[1],
            ),
        ),
        ("A part of a token is not enough:", moved(-1, 0)),
        ("41,794 tokens make 65,500,160 parameters, which does not", moved(0, 1)),
        ("41,793 tokens make 65,499,648 parameters, which rounds to", moved(0, -1)),
    ],
    check_decoder_only: [
        ("the output has a matrix of its own", lambda *given: gpt(*given, matrices=2)),
        ("the biases of the linear maps are missing", lambda *given: gpt(*given, vectors=4)),
    ],
}
