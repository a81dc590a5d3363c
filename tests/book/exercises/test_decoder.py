"""The checks of the exercises on the decoder reject wrong answers."""

import torch
import torch.nn.functional as F

from annotated_transformer.book.exercises.decoder import (
    SHIFTED,
    check_allowed,
    check_decoder_layer,
    check_inputs_and_labels,
    check_leak_test,
    check_shifted,
    check_write,
)
from tests.answers import faults


def varied(*, masked=True, cross="a"):
    """Return a decoder layer, optionally with one deliberate change."""

    def layer(x, z, w):
        def attend(kind, x, read, hidden):
            query, key, value = (
                y @ w[f"{kind}_{n}"] for y, n in ((x, "query"), (read, "key"), (read, "value"))
            )
            scores = (query @ key.T / query.size(-1) ** 0.5).masked_fill(hidden, -torch.inf)
            return scores.softmax(dim=-1) @ value @ w[f"{kind}_output"]

        def norm(y):
            return F.layer_norm(y, y.shape[-1:])

        hidden = torch.ones(len(x), len(x), dtype=torch.bool).triu(1) & masked
        a = norm(x + attend("self", x, x, hidden))
        b = norm(a + attend("cross", {"a": a, "x": x}[cross], z, torch.tensor(False)))
        return norm(b + (b @ w["expand"]).relu() @ w["contract"])

    return layer


def writer(*, start=1, row=-1, extra=0):
    """Return a greedy decoding loop, optionally with one deliberate change."""

    def write(decode, limit):
        ids = [start]
        while len(ids) <= limit + extra and (len(ids) == 1 or ids[-1] != 2):
            ids.append(decode(torch.tensor([ids]))[0, row].argmax().item())
        return ids[1:]

    return write


def one_step_more(decode, limit):
    written = writer()(decode, limit)
    decode(torch.tensor([[1, *written]]))
    return written


def pair_count(n, whole):
    return n * (n + 1) // 2 if whole else n * (n + 1) * (n + 2) // 6


def leak_test(decode, n, vocab, *, reach=None, low=1):
    rng = torch.Generator().manual_seed(0)
    for _ in range(5):
        ids, other = torch.randint(vocab, (2, 1, n), generator=rng)
        for cut in range(low, n):
            mixed = ids.clone()
            end = n if reach is None else cut + reach
            mixed[:, cut:end] = other[:, cut:end]
            first = 0 if reach is None else cut - 1
            rows = slice(first, cut + 1 - low)
            if (decode(mixed)[:, rows] - decode(ids)[:, rows]).abs().max() > 1e-9:
                return True
    return False


RIGHT = [
    (check_shifted, SHIFTED),
    (check_decoder_layer, varied()),
    (check_write, writer()),
    (check_inputs_and_labels, lambda tgt: (tgt[:, :-1], tgt[:, 1:])),
    (check_allowed, pair_count),
    (check_leak_test, leak_test),
]


def without_ends(tgt):
    inputs = tgt[:, :-1].masked_fill(tgt[:, :-1] == 2, 0)
    return inputs, torch.cat([inputs[:, 1:], tgt[:, -1:]], dim=1)


def end_last(tgt):
    inputs = tgt[:, :-1].masked_fill(tgt[:, :-1] == 2, 0)
    return inputs, torch.cat([inputs[:, 1:], torch.full_like(tgt[:, :1], 2)], dim=1)


def two_apart(tgt):
    return torch.cat([tgt[:, :1], tgt[:, 2:]], dim=1), tgt[:, 1:]


WRONG = {
    "shift: the inputs keep their ends": (check_shifted, SHIFTED | {"inputs": [[1, 7, 8, 9], [1, 5, 0, 0]]}),
    "shift: no end among the labels": (check_shifted, SHIFTED | {"labels": [[7, 8, 9, 0], [5, 0, 0, 0]]}),
    "shift: padding is counted": (check_shifted, SHIFTED | {"counted": 8}),
    "layer: no mask": (check_decoder_layer, varied(masked=False)),
    "layer: the source is asked by x": (check_decoder_layer, varied(cross="x")),
    "write: starts with padding": (check_write, writer(start=0)),
    "write: the first row": (check_write, writer(row=0)),
    "write: one too many": (check_write, writer(extra=1)),
    "write: the end is left out": (
        check_write,
        lambda decode, limit: [token for token in writer()(decode, limit) if token != 2],
    ),
    "write: one call more than words": (check_write, one_step_more),
    "debug: cut twice": (check_inputs_and_labels, lambda tgt: (tgt[:, :-2], tgt[:, 1:-1])),
    "debug: not shifted": (check_inputs_and_labels, lambda tgt: (tgt[:, 1:], tgt[:, 1:])),
    "debug: ends removed": (check_inputs_and_labels, without_ends),
    "debug: the end moves behind the padding": (check_inputs_and_labels, end_last),
    "debug: two slots apart": (check_inputs_and_labels, two_apart),
    "debug: starts with padding": (
        check_inputs_and_labels,
        lambda tgt: (tgt[:, :-1].masked_fill(tgt[:, :-1] == 1, 0), tgt[:, 1:]),
    ),
    "pairs: the whole square": (
        check_allowed,
        lambda n, whole: n**2 if whole else pair_count(n, whole),
    ),
    "pairs: n passes of full length": (
        check_allowed,
        lambda n, w: pair_count(n, True) * (1 if w else n),
    ),
    "leak: the next slot only": (check_leak_test, lambda *given: leak_test(*given, reach=1)),
    "leak: the own slot, too": (check_leak_test, lambda *given: leak_test(*given, low=0)),
    "leak: never": (check_leak_test, lambda *given: False),
}


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG) == []
