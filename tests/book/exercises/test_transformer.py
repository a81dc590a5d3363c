"""The checks of the exercises on the whole Transformer reject wrong answers."""

from annotated_transformer.book.exercises.transformer import (
    PREDICTED,
    check_assembled,
    check_decoder_only,
    check_interval,
    check_pass_shapes,
    check_unique_count,
)
from tests.answers import faults


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


RIGHT = [
    (check_pass_shapes, PREDICTED),
    (check_assembled, assembler()),
    (check_unique_count, count),
    (check_interval, interval),
    (check_decoder_only, gpt),
]


WRONG = {
    "shapes: z has the target's rows": (check_pass_shapes, PREDICTED | {"z": (5, 512)}),
    "shapes: keys first": (check_pass_shapes, PREDICTED | {"cross-attention weights": (8, 7, 5)}),
    "assemble: layer by layer": (check_assembled, assembler(paired=True)),
    "assemble: the embeddings are read": (check_assembled, assembler(embedded=True)),
    "count: buffers": (
        check_unique_count,
        lambda model: count(model) + sum(b.numel() for b in model.buffers()),
    ),
    "count: each name": (
        check_unique_count,
        lambda model: sum(t.numel() for t in model.state_dict().values()),
    ),
    "interval: rounded down": (check_interval, lambda *given: interval(*given, down=True)),
    "interval: one too high below": (
        check_interval,
        lambda rest, d, millions: (
            (10**6 * millions - 500_000 - rest) // d + 1,
            interval(rest, d, millions)[1],
        ),
    ),
    **{
        f"interval: the {name} end is {change:+}": (
            check_interval,
            lambda *given, low=low, high=high: (interval(*given)[0] + low, interval(*given)[1] + high),
        )
        for name, low, high, change in (("lower", -1, 0, -1), ("upper", 0, 1, 1), ("upper", 0, -1, -1))
    },
    "gpt: two matrices": (check_decoder_only, lambda *given: gpt(*given, matrices=2)),
    "gpt: no biases": (check_decoder_only, lambda *given: gpt(*given, vectors=4)),
}


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG) == []
