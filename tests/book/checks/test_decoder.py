"""The checks of the exercises on the decoder reject wrong answers."""

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.book.checks.decoder import (
    SHIFTED,
    check_allowed,
    check_decoder_layer,
    check_inputs_and_labels,
    check_leak_test,
    check_shifted,
    check_write,
)
from tests.answers import assert_refused, assert_refused_as_empty, unanswered


def varied(*, masked=True, cross="a", memory="z", pre=False, residual=True):
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

        n = len(x)
        hidden = torch.ones(n, n, dtype=torch.bool).triu(1) & masked
        inner = norm(x) if pre else x
        a = x + attend("self", inner, inner, hidden)
        a = a if pre else norm(a)
        read = {"z": z, "a": a}[memory]
        crossed = attend("cross", {"a": norm(a) if pre else a, "x": x}[cross], read, torch.tensor(False))
        b = crossed + (a if residual else 0)
        b = b if pre else norm(b)
        out = b + ((norm(b) if pre else b) @ w["expand"]).relu() @ w["contract"]
        return out if pre else norm(out)

    return layer


def writer(*, start=1, row=-1, end=2, last_only=False, keep_start=False, extra=0):
    """Return a greedy decoding loop, optionally with one deliberate change."""

    def write(decode, limit):
        ids = [start]
        while len(ids) <= limit + extra and (len(ids) == 1 or ids[-1] != end):
            given = ids[-1:] if last_only else ids
            ids.append(decode(torch.tensor([given]))[0, row].argmax().item())
        return ids if keep_start else ids[1:]

    return write


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


RIGHT = {
    check_shifted: SHIFTED,
    check_decoder_layer: varied(),
    check_write: writer(),
    check_inputs_and_labels: lambda tgt: (tgt[:, :-1], tgt[:, 1:]),
    check_allowed: pair_count,
    check_leak_test: leak_test,
}


@pytest.mark.parametrize(("check", "answer"), RIGHT.items())
def test_law_the_right_answer_passes(check, answer):
    assert check(answer).passed, repr(check(answer))


def without_ends(tgt):
    inputs = tgt[:, :-1].masked_fill(tgt[:, :-1] == 2, 0)
    return inputs, torch.cat([inputs[:, 1:], tgt[:, -1:]], dim=1)


WRONG = {
    "shift: the inputs keep their ends": (check_shifted, SHIFTED | {"inputs": [[1, 7, 8, 9], [1, 5, 0, 0]]}),
    "shift: no end among the labels": (check_shifted, SHIFTED | {"labels": [[7, 8, 9, 0], [5, 0, 0, 0]]}),
    "shift: padding is counted": (check_shifted, SHIFTED | {"counted": 8}),
    "layer: no mask": (check_decoder_layer, varied(masked=False)),
    "layer: the source is asked by x": (check_decoder_layer, varied(cross="x")),
    "layer: the target reads itself twice": (check_decoder_layer, varied(memory="a")),
    "layer: pre-norm": (check_decoder_layer, varied(pre=True)),
    "layer: one residual is missing": (check_decoder_layer, varied(residual=False)),
    "write: starts with padding": (check_write, writer(start=0)),
    "write: the first row": (check_write, writer(row=0)),
    "write: does not stop": (check_write, writer(end=-1)),
    "write: the last word only": (check_write, writer(last_only=True)),
    "write: returns <s>": (check_write, writer(keep_start=True)),
    "write: one too many": (check_write, writer(extra=1)),
    "debug: cut twice": (check_inputs_and_labels, lambda tgt: (tgt[:, :-2], tgt[:, 1:-1])),
    "debug: not shifted": (check_inputs_and_labels, lambda tgt: (tgt[:, 1:], tgt[:, 1:])),
    "debug: shifted twice": (check_inputs_and_labels, lambda tgt: (tgt[:, :-2], tgt[:, 2:])),
    "debug: ends removed": (check_inputs_and_labels, without_ends),
    "pairs: the whole square": (
        check_allowed,
        lambda n, whole: n**2 if whole else pair_count(n, whole),
    ),
    "pairs: rows": (check_allowed, lambda n, whole: n if whole else n * (n + 1) // 2),
    "pairs: n passes of full length": (
        check_allowed,
        lambda n, w: pair_count(n, True) * (1 if w else n),
    ),
    "leak: the next slot only": (check_leak_test, lambda *given: leak_test(*given, reach=1)),
    "leak: the own slot, too": (check_leak_test, lambda *given: leak_test(*given, low=0)),
    "leak: always": (check_leak_test, lambda *given: True),
    "leak: never": (check_leak_test, lambda *given: False),
}


@pytest.mark.parametrize(("check", "wrong"), WRONG.values(), ids=WRONG)
def test_law_a_wrong_answer_is_rejected_with_an_explanation(check, wrong):
    assert_refused(check, wrong)


def test_law_an_empty_answer_is_reported_as_empty():
    for check in RIGHT:
        assert_refused_as_empty(check, dict.fromkeys(SHIFTED, ...) if check is check_shifted else unanswered)
