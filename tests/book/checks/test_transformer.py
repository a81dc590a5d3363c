"""The checks of the exercises on the whole Transformer reject wrong answers."""

from collections import Counter

import pytest

from annotated_transformer.book.checks.transformer import (
    PREDICTED,
    check_assembled,
    check_decoder_only,
    check_interval,
    check_pass_shapes,
    check_unique_count,
)


def assembler(*, paired=False, raw=False, logits=False, embedded=False):
    """Return a function that assembles a Transformer, optionally with one deliberate change."""

    def assemble(src, tgt, embed, encoder, decoder, table):
        z, y = embed(src), embed(tgt)
        states = []
        for layer in encoder:
            z = layer(z)
            states.append(z)
        read = states if paired else [embed(src) if embedded else z] * len(decoder)
        for layer, memory in zip(decoder, read, strict=True):
            y = layer(y, y if raw else memory)
        scores = y @ table.T
        return scores if logits else scores.softmax(dim=-1)

    return assemble


def count(model):
    return sum(p.numel() for p in model.parameters())


def interval(rest, d, millions, *, down=False):
    low, high = (10**6 * millions + half - rest for half in (-500_000, 500_000))
    return (low // d, high // d) if down else (-(-low // d), -(-high // d) - 1)


def gpt(vocab, positions, layers, d, *, matrices=1, vectors=13, final=2):
    return (matrices * vocab + positions) * d + layers * (12 * d * d + vectors * d) + final * d


RIGHT = {
    check_pass_shapes: PREDICTED,
    check_assembled: assembler(),
    check_unique_count: count,
    check_interval: interval,
    check_decoder_only: gpt,
}


@pytest.mark.parametrize(("check", "answer"), RIGHT.items())
def test_law_the_right_answer_passes(check, answer):
    assert check(answer).passed, repr(check(answer))


WRONG = {
    "shapes: z has the target's rows": (check_pass_shapes, PREDICTED | {"z": (5, 512)}),
    "shapes: keys first": (check_pass_shapes, PREDICTED | {"cross-attention weights": (8, 7, 5)}),
    "assemble: layer by layer": (check_assembled, assembler(paired=True)),
    "assemble: the embeddings are read": (check_assembled, assembler(embedded=True)),
    "assemble: the target reads itself": (check_assembled, assembler(raw=True)),
    "assemble: logits": (check_assembled, assembler(logits=True)),
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
    "interval: one number": (check_interval, lambda *given: (interval(*given)[0],) * 2),
    "gpt: two matrices": (check_decoder_only, lambda *given: gpt(*given, matrices=2)),
    "gpt: no biases": (check_decoder_only, lambda *given: gpt(*given, vectors=4)),
    "gpt: no final norm": (check_decoder_only, lambda *given: gpt(*given, final=0)),
}


@pytest.mark.parametrize(("check", "wrong"), WRONG.values(), ids=WRONG)
def test_law_a_wrong_answer_is_rejected_with_an_explanation(check, wrong):
    verdict = check(wrong)
    assert not verdict.passed
    assert len(verdict.message.split()) > 3


def test_law_every_check_rejects_two_answers_or_more():
    assert min(Counter(check for check, _ in WRONG.values()).values()) >= 2
    assert {check for check, _ in WRONG.values()} == set(RIGHT)
