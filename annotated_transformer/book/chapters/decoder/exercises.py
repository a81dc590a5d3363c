"""Checks of the exercises of the chapter on the decoder (section 3.1 of the paper)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, equal, nn

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import Sublayer, mistaken_layer, run_layer
from annotated_transformer.book.exercises.verdict import (
    expect,
    expect_close,
    expect_equal,
    expect_no_mistake,
    expect_shape,
    expect_tensor,
    expect_tuple,
    judge,
    plural,
)

Decode = Callable[[Tensor], Tensor]
BOS, EOS = 1, 2
MATRICES = ("query", "key", "value", "output")  # of an attention


@predictions(put="numbers", shows="each label is the input of the next slot, and padding is not counted.")
def check_shifted() -> Answers:
    """Judge the inputs, labels and number of labels in the loss, exercise ex-predict-shift."""
    inputs, labels = [[1, 7, 8, 9], [1, 5, 2, 0]], [[7, 8, 9, 2], [5, 2, 0, 0]]
    whole = {"nothing is left out": [[1, 7, 8, 9, 2], [1, 5, 2, 0, 0]]}
    ends = "</s> is left out of each row; only the last column is"
    return {
        "inputs": Answer(inputs,
            "They begin with <s>, and each slot's input is the label of the slot before.",
            {"these are the labels": labels, ends: [[1, 7, 8, 9], [1, 5, 0, 0]], **whole}),
        "labels": Answer(labels, "Each slot's label is the next token, and </s> is one, too.",
            {"these are the inputs": inputs, **whole}),
        "counted": Answer(6, "Labels that are padding do not count.", {"padding is counted": 8,
            "</s> is not counted": 4}),
    }  # fmt: skip


@judge
def check_decoder_layer(answer: Callable[[Tensor, Tensor, Mapping[str, Tensor]], Tensor]) -> str:
    """Judge `answer(x, z, w)`, exercise ex-decoder-layer, by PyTorch's layer."""
    rng = torch.Generator().manual_seed(0)
    for n, m, width, inner in ((5, 3, 6, 7), (2, 7, 4, 11), (1, 1, 3, 2)):
        oracle = nn.TransformerDecoderLayer(width, 1, inner, dropout=0.0, batch_first=True).double()
        names = [f"{part}_{name}" for part in ("self", "cross") for name in MATRICES]
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
        own, cross, network = right = _sublayers(z, w)
        mistakes = {
            "self-attention is not masked": run_layer(x, *_sublayers(z, w, masked=False)),
            "cross-attention takes its queries from x; they come from a": (
                run_layer(x, own, partial(lambda answers, _: answers, cross(x)), network)
            ),
            "the scores are not divided by √d_k": run_layer(x, *_sublayers(z, w, scale=1.0)),
            "cross-attention is missing": run_layer(x, own, network),
            **mistaken_layer(x, *right),
        }
        what = f"the output for {plural(n, 'target token')} and {plural(m, 'source token')}"
        expect_close(answer(x, z, w), wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "it agrees with PyTorch's decoder layer."


def _sublayers(
    z: Tensor, w: Mapping[str, Tensor], *, masked: bool = True, scale: float | None = None
) -> tuple[Sublayer, Sublayer, Sublayer]:
    """Return the two attentions and the network of a decoder layer, perhaps with a mistake."""

    def attend(kind: str, asking: Tensor, read: Tensor, causal: bool) -> Tensor:
        inputs = zip((asking, read, read), MATRICES, strict=False)
        query, key, value = (y @ w[f"{kind}_{name}"] for y, name in inputs)
        output = F.scaled_dot_product_attention(query, key, value, is_causal=causal, scale=scale)
        return output @ w[f"{kind}_output"]

    return (
        lambda x: attend("self", x, x, masked),
        lambda a: attend("cross", a, z, False),
        lambda b: (b @ w["expand"]).relu() @ w["contract"],
    )


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
        written = expect_tensor(expect_tuple(answer(decode, limit)), what="the list of ids").tolist()
        expect(bool(calls), "the decoder was not called.")
        padding = {"writing begins with padding instead of <s>": [[0]]}
        expect_equal(calls[0].tolist(), [[BOS]], what="the first input of the decoder", mistakes=padding)
        mistakes = {
            "the first row of the logits is read; the last one belongs to the next word": right[:1] * limit,
            "the limit is passed by one word": [*wanted, EOS][: limit + 1],
            "</s> is left out": [token for token in right if token != EOS],
            "<s> is returned as well": [BOS, *right],
        }
        expect_equal(written, right, what=f"with limit {limit}, the ids", mistakes=mistakes)
        extra = f"the decoder ran {plural(len(calls), 'time')} for {plural(len(right), 'word')}"
        expect(len(calls) == len(right), f"{extra}; after the last word, no more step is needed.")
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
        inputs, labels = (expect_tensor(part, what="each part") for part in expect_tuple(answer(batch), 2))
        wanted, right = batch[:, :-1], batch[:, 1:]
        where = f"for {tgt}, the matrix of"
        cut = {"it is a column too short": batch[:, :-2]}
        shifted = {
            "it is that of the labels": right,
            "it begins with padding instead of <s>": wanted.masked_fill(wanted == BOS, 0),
            "a token is left out, so that an input is no longer the label before it": torch.cat(
                [batch[:, :1], batch[:, 2:]], dim=1
            ),
        }
        unended = wanted.masked_fill(wanted == EOS, 0)
        late = torch.cat([unended[:, 1:], torch.full_like(batch[:, :1], EOS)], dim=1)
        lost = {
            "it is a column too short, and the longest rows lose their </s>": batch[:, 1:-1],
            "</s> is removed from the shorter rows": torch.cat([unended[:, 1:], right[:, -1:]], dim=1),
            "</s> comes after the padding": late,
            "it is that of the inputs": wanted,
        }
        if not equal(labels, right):
            expect_no_mistake(labels, lost, what=f"{where} labels")
        if not equal(inputs, wanted):
            expect_no_mistake(inputs, cut | shifted, what=f"{where} inputs")
        expect_shape(inputs, wanted, what=f"{where} inputs")
        expect_shape(labels, right, what=f"{where} labels")
        expect_equal(inputs.tolist(), wanted.tolist(), what=f"{where} inputs")
        expect_equal(labels.tolist(), right.tolist(), what=f"{where} labels")
    return "one slot between input and label, and each </s> is a label."


@formula(
    *((n, whole) for n in (7, 1, 2, 3, 12) for whole in (True, False)),
    shows="one pass needs about n/3 times fewer.",
    shown=2,
)
def check_allowed(n: int, whole: bool) -> Answer:
    """Judge `answer(n, whole)`, exercise ex-derive-pairs, by counting pairs."""
    lengths = [n] if whole else range(1, n + 1)
    right = sum(i >= j for length in lengths for i in range(length) for j in range(length))
    mistakes = {
        "the mask is not used: a query may not look at later keys": sum(i * i for i in lengths),
        "each pass is taken to have all n slots": n * n * (n + 1) // 2,
        "a slot may not look at itself; the causal mask allows it": right - sum(lengths),
        "all passes together are counted as one": n * (n + 1) // 2,
    }
    return Answer(right, "On how many keys, its own included, may each query look?", mistakes)


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

    own = "A row may depend on its own slot."
    for decode, leaks, name, hint in (
        (honest, False, "a decoder that reads the past", own),
        (strict, False, "a decoder that reads the past without the last word", own),
        (next_word, True, "a decoder that reads the next word", "Change a later slot, and compare the rows."),
        (
            last_word,
            True,
            "a decoder whose first row reads the last word",
            "Compare all rows before the change.",
        ),
        (batch_mean, True, "a decoder that subtracts the mean over all positions", "Compare exactly."),
    ):
        found = bool(answer(decode, n, vocab))
        told = f"{name} {'leaks' if leaks else 'does not leak'}, but you found {found}."
        expect(found == leaks, f"{told} {hint}")
    return "it finds leaks from the next and from far words, and accuses neither honest decoder."
