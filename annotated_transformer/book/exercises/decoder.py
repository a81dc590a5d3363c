"""Checks of the exercises of the chapter on the decoder (section 3.1 of the paper)."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from annotated_transformer.book.exercises.verdict import expect, expect_close, judge

Decode = Callable[[Tensor], Tensor]
BOS, EOS = 1, 2
SHIFTED = {
    "inputs": [[1, 7, 8, 9], [1, 5, 2, 0]],
    "labels": [[7, 8, 9, 2], [5, 2, 0, 0]],
    "counted": 6,
}


@judge
def check_shifted(answer: Mapping[str, object]) -> str:
    """Judge the inputs, labels and number of labels in the loss, exercise ex-predict-shift."""
    for name, wanted in SHIFTED.items():
        prediction = answer.get(name, ...)
        expect(prediction is not ..., f"{name!r} is still empty.")
        expect(
            prediction == wanted, f"{name!r} is not {prediction}. Write each slot's input below its label."
        )
    return "each label is the input of the next slot, and padding is not counted."


@judge
def check_decoder_layer(answer: Callable[[Tensor, Tensor, Mapping[str, Tensor]], Tensor]) -> str:
    """Judge `answer(x, z, w)`, exercise ex-decoder-layer, by PyTorch's layer."""
    rng = torch.Generator().manual_seed(0)
    for n, m, width, inner in ((5, 3, 6, 7), (2, 7, 4, 11), (1, 1, 3, 2)):
        oracle = nn.TransformerDecoderLayer(width, 1, inner, dropout=0.0, batch_first=True).double()
        names = [
            f"{part}_{name}" for part in ("self", "cross") for name in ("query", "key", "value", "output")
        ]
        shapes = dict.fromkeys(names, (width, width))
        shapes |= {"expand": (width, inner), "contract": (inner, width)}
        w = {name: torch.randn(*s, generator=rng, dtype=torch.float64) for name, s in shapes.items()}
        with torch.no_grad():
            for name, parameter in oracle.named_parameters():
                if name.endswith("bias"):
                    parameter.zero_()
            for part, attend in (("self", oracle.self_attn), ("cross", oracle.multihead_attn)):
                inputs = [w[f"{part}_{name}"].T for name in ("query", "key", "value")]
                attend.in_proj_weight.copy_(torch.cat(inputs))
                attend.out_proj.weight.copy_(w[f"{part}_output"].T)
            oracle.linear1.weight.copy_(w["expand"].T)
            oracle.linear2.weight.copy_(w["contract"].T)
            x, z = (torch.randn(size, width, generator=rng, dtype=torch.float64) for size in (n, m))
            hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
            wanted = oracle(x[None], z[None], tgt_mask=hidden)[0]
        what = f"the output for {n} target and {m} source tokens"
        expect_close(answer(x, z, w), wanted, what=what, tolerance=1e-9)
    return "it agrees with PyTorch's decoder layer."


def _table(calls: list[Tensor]) -> Decode:
    """Return a decoder whose next word depends on the sum of all words so far; from 20 on, it is EOS."""

    def decode(ids: Tensor) -> Tensor:
        calls.append(ids.clone())
        sums = ids.cumsum(dim=1)
        following = torch.where(sums >= 20, EOS, 3 + sums % 6)
        return nn.functional.one_hot(following, 9).double()

    return decode


@judge
def check_write(answer: Callable[[Decode, int], Sequence[int]]) -> str:
    """Judge `answer(decode, limit)`, exercise ex-write."""
    calls: list[Tensor] = []
    decode = _table(calls)
    wanted, total = [], BOS
    while total < 20:
        wanted.append(3 + total % 6)
        total += wanted[-1]
    for limit, right in ((20, [*wanted, EOS]), (2, wanted[:2])):
        calls.clear()
        written = [int(token) for token in answer(decode, limit)]
        expect(bool(calls), "the decoder was not called.")
        expect(
            calls[0].tolist() == [[BOS]], f"the first input is {calls[0].tolist()}, it should be [[{BOS}]]."
        )
        expect(written == right, f"with limit {limit} you wrote {written}, it should be {right}.")
        expect(len(calls) == len(right), f"the decoder ran {len(calls)} times for {len(right)} words.")
    return "each step reads all words so far, and writing ends with </s> or at the limit."


@judge
def check_inputs_and_labels(answer: Callable[[Tensor], tuple[Tensor, Tensor]]) -> str:
    """Judge `answer(tgt)`, exercise ex-debug-shift."""
    for tgt in (
        [[1, 5, 6, 2], [1, 7, 2, 0]],
        [[1, 2]],
        [[1, 5, 2, 0], [1, 5, 6, 2], [1, 2, 0, 0], [1, 9, 9, 2]],
    ):
        batch = torch.tensor(tgt)
        inputs, labels = answer(batch)
        n = batch.size(1) - 1
        expect(
            tuple(inputs.shape) == (len(tgt), n), f"for {tgt} the inputs have shape {tuple(inputs.shape)}."
        )
        expect(
            tuple(labels.shape) == (len(tgt), n), f"for {tgt} the labels have shape {tuple(labels.shape)}."
        )
        expect(bool((inputs[:, 0] == BOS).all()), "the first input is not <s> in each row.")
        ends = (labels == EOS).sum(dim=1).tolist()
        expect(
            ends == [1] * len(tgt),
            f"for {tgt} the labels of the rows hold {ends} times </s>; each needs one.",
        )
        expect(torch.equal(inputs[:, 1:], labels[:, :-1]), "a label is not the input of the next slot.")
        expect(torch.equal(labels, batch[:, 1:]), f"for {tgt} the labels are {labels.tolist()}.")
    return "one slot between input and label, and each </s> is a label."


@judge
def check_allowed(answer: Callable[[int, bool], int]) -> str:
    """Judge `answer(n, whole)`, exercise ex-derive-pairs, by counting pairs."""
    for n in (1, 2, 3, 7, 12):
        for whole in (True, False):
            lengths = [n] if whole else range(1, n + 1)
            right = sum(i >= j for length in lengths for i in range(length) for j in range(length))
            count = answer(n, whole)
            how = "in one pass" if whole else "step by step"
            expect(count == right, f"for n={n} {how} there are {right:,} pairs, not {count:,}.")
    return "one pass needs about n/3 times fewer."


@judge
def check_leak_test(answer: Callable[[Callable[[Tensor], Tensor], int, int], bool]) -> str:
    """Judge `answer(decode, n, vocab)`, exercise ex-leak-test: is there a leak?"""
    n, vocab = 6, 11

    def honest(ids: Tensor) -> Tensor:
        return torch.stack([ids.cumsum(dim=1), ids.cumsum(dim=1) ** 2], dim=-1).double()

    def strict(ids: Tensor) -> Tensor:
        return honest(ids) - ids[..., None]

    def next_word(ids: Tensor) -> Tensor:
        return honest(ids) + 0.01 * ids.roll(-1, dims=1)[..., None]

    def last_word(ids: Tensor) -> Tensor:
        leak = torch.zeros_like(ids)
        leak[:, 0] = ids[:, -1]
        return honest(ids) + 1e-3 * leak[..., None]

    def batch_mean(ids: Tensor) -> Tensor:
        return honest(ids) - honest(ids).mean(dim=1, keepdim=True)

    for decode, leaks, name in (
        (honest, False, "a decoder that reads the past"),
        (strict, False, "a decoder that reads the past without the last word"),
        (next_word, True, "a decoder that reads the next word"),
        (last_word, True, "a decoder whose first row reads the last word"),
        (batch_mean, True, "a decoder that subtracts the mean over all positions"),
    ):
        found = bool(answer(decode, n, vocab))
        expect(found == leaks, f"{name} {'leaks' if leaks else 'does not leak'}, but you found {found}.")
    return "it finds leaks from the next and from far words, and accuses neither honest decoder."
