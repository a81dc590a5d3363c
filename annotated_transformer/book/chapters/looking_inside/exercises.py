"""Checks of the exercises of the chapter on looking inside."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, allclose, equal

from annotated_transformer.book.exercises.answers import Answer, Answers, predictions
from annotated_transformer.book.exercises.inputs import normal_draws
from annotated_transformer.book.exercises.verdict import expect, expect_close, expect_tensor, judge, plural
from annotated_transformer.model.attention import attention_weights
from annotated_transformer.model.multi_head_attention import MultiHeadAttention


@predictions(
    put="four times True or False",
    shows="weights sum to 1 and know nothing of the values, and many maps give the same output.",
)
def check_map() -> Answers:
    """Judge which statements about a map are predicted to hold, exercise ex-predict-map."""
    draw = normal_draws(0)
    query, key, value, other, shift = draw(1, 4), draw(12, 4), draw(12, 4), draw(12, 4), draw(4)
    weights = attention_weights(query, key)
    columns = torch.cat([value, torch.ones(12, 1, dtype=torch.float64)], dim=1)
    hidden = torch.linalg.svd(columns.T)[2][-1]  # orthogonal to all columns
    changed = weights + 0.1 * weights.min() * hidden

    def same(left: Tensor, right: Tensor, clue: str) -> Answer:
        return Answer(allclose(left, right), clue)

    return {
        "the same vector added to all values": same(weights @ (value + shift), weights @ value + shift,
            "What do the weights of a row sum to?"),
        "doubled values and the map": same(attention_weights(query, key), weights,
            "From what are the weights computed?"),
        "two heads with the same map": same(weights @ value, weights @ other,
            "What else does a head's output depend on?"),
        "a different map with the same output": same(changed @ value, weights @ value,
            "How many equations do 12 weights have to meet?"),
    }  # fmt: skip


@judge
def check_entropy(answer: Callable[[Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(weights, real)`, exercise ex-entropy, by a sum over single weights."""
    weights = (3 * normal_draws(0)(2, 3, 5, 7)).softmax(dim=-1)
    weights[0, 1, 2] = torch.eye(7, dtype=torch.float64)[4]  # a row with zeros
    real = torch.tensor([[True, True, True, False, False], [True] * 5])
    wanted = torch.zeros(3, dtype=torch.float64)
    for head in range(3):
        rows = [weights[s, head, q].tolist() for s in range(2) for q in range(5) if real[s, q]]
        wanted[head] = -sum(w * math.log(w) for row in rows for w in row if w > 0) / len(rows)
    result = answer(weights, real)
    found = expect_tensor(result, what="the result")
    expect(not bool(found.isnan().any()), "a row that attends to one token gives NaN; 0 · ln 0 counts as 0.")
    entropy = torch.special.entr(weights).sum(dim=-1)
    each = [entropy[s][:, real[s]].mean(dim=1) for s in range(2)]

    mistakes = {
        "padding is averaged, too": entropy.mean(dim=(0, 2)),
        "the logarithm has the base 2; the book's entropy is in nats": wanted / math.log(2),
        "the sign is reversed": -wanted,
        "the entropies are added, not averaged": wanted * real.sum(),
        "each sentence is averaged first; then queries of short ones count more": torch.stack(each).mean(0),
        "the mean over all heads is returned": wanted.mean(),
        "the sum is divided by the number of all queries, padding included": wanted * real.double().mean(),
    }
    what = "the mean entropy of each head"
    expect_close(result, wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "it is the sum over all real queries, and zeros do no harm."


@judge
def check_switch_off(answer: Callable[[MultiHeadAttention, Tensor, int, bool], Tensor]) -> str:
    """Judge `answer(attention, x, head, mean)`, exercise ex-switch-off, by the sum over heads."""
    draw = normal_draws(0)
    x = draw(2, 5, 12)
    attention = MultiHeadAttention(12, 3).double().requires_grad_(False)
    for parameter in attention.parameters():
        parameter.copy_(draw(*parameter.shape) / 3)
    kept = {name: weight.clone() for name, weight in attention.state_dict().items()}
    query, (key, value) = attention.project_query(x), attention.project_memory(x, x)
    heads = attention_weights(query, key) @ value
    matrices = attention.to_output.weight.T.unflatten(0, (3, 4))
    for head in range(3):
        for mean in (False, True):
            outputs = [heads[:, number] for number in range(3)]
            outputs[head] = (
                outputs[head].mean(dim=(0, 1)).expand(2, 5, 4) if mean else torch.zeros_like(outputs[head])
            )
            wanted = sum((o @ m for o, m in zip(outputs, matrices, strict=True)), torch.zeros_like(x))
            kind = "its mean" if mean else "zeros"
            result = answer(attention, x, head, mean)
            same = all(equal(kept[name], weight) for name, weight in attention.state_dict().items())
            expect(same, "the weights are not the same as before the call; leave them as they were.")
            hooked = any(m._forward_hooks or m._forward_pre_hooks for m in attention.modules())
            expect(not hooked, "a hook is still registered after the call; remove it.")
            columns = attention(x, x, x).unflatten(-1, (3, -1)).clone()
            columns[..., head, :] = 0
            own = heads[:, head]
            rest = wanted - (own.mean(dim=(0, 1)).expand(2, 5, 4) if mean else 0 * own) @ matrices[head]
            mistakes = {
                "columns of the output are replaced; the head itself, before W^O, is meant": columns.flatten(
                    -2
                ),
                "the head is left as it was": attention(x, x, x),
            }
            if mean:
                each = own.mean(dim=1, keepdim=True).expand(2, 5, 4)
                mistakes |= {
                    "the mean is taken over each sentence; it should be over the batch, too": rest
                    + each @ matrices[head],
                    "zeros are put in place of the mean": rest,
                }
            what = f"the output with head {head} replaced by {kind}"
            expect_close(result, wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "each head can be replaced, by zeros or its mean, and the module is as it was."


@judge
def check_word_split(answer: Callable[[Tensor, torch.Generator], Tensor]) -> str:
    """Judge `answer(words, rng)`, exercise ex-probe-split."""
    words = torch.arange(300).remainder(100).mul(3)  # three samples of each of 100 words, not numbered from 0
    shares = []
    for seed in range(5):
        held_out = answer(words, torch.Generator().manual_seed(seed))
        found = expect_tensor(held_out, what="the result")
        right = tuple(found.shape) == (300,) and found.dtype == torch.bool
        expect(right, "the result should hold one True or False for each sample.")
        both = set(words[found].tolist()) & set(words[~found].tolist())
        told = f"on both sides of the split, there are samples of {plural(len(both), 'word')} out of 100."
        expect(not both, told)
        shares.append(found.double().mean().item())
    low, high = min(shares), max(shares)
    swapped = " These are the samples for training." if 0.5 < low and high < 0.9 else ""
    expect(
        0.1 < low and high < 0.6,
        f"the held-out share should be about a third, but it is {low:.2f} to {high:.2f}.{swapped}",
    )
    expect(low < high, "the split does not depend on the generator, so it is the same each time.")
    return "no word is on both sides."


@judge
def check_rollout(answer: Callable[[list[Tensor]], Tensor]) -> str:
    """Judge `answer(maps)`, exercise ex-rollout, by following single paths through the layers."""
    draw = normal_draws(0)
    for layers, tokens in ((1, 3), (3, 4)):
        maps = [draw(tokens, tokens).softmax(dim=-1) for _ in range(layers)]
        wanted = torch.zeros(tokens, tokens, dtype=torch.float64)
        for start in range(tokens):
            reached = {start: 1.0}  # from an output down to the inputs
            for weights in reversed(maps):
                below = dict.fromkeys(range(tokens), 0.0)
                for token, share in reached.items():
                    below[token] += share / 2
                    for key in range(tokens):
                        below[key] += share / 2 * weights[token, key].item()
                reached = below
            wanted[start] = torch.tensor([reached[key] for key in range(tokens)], dtype=torch.float64)
        eye = torch.eye(tokens, dtype=torch.float64)
        halves = [(weights + eye) / 2 for weights in maps]

        def product(matrices: list[Tensor], start: Tensor = eye) -> Tensor:
            total = start
            for matrix in matrices:
                total = matrix @ total
            return total

        mistakes = {
            "the residual connections are left out": product(maps),
            "the maps are multiplied from the last layer to the first": product(halves[::-1]),
            "A + I is not divided by 2": product([2 * half for half in halves]),
            "the product is transposed": product(halves).T,
            "only the last map is used": halves[-1],
        }
        what = f"the rollout of {plural(layers, 'map')}"
        expect_close(answer(maps), wanted, what=what, tolerance=1e-6, mistakes=mistakes)
    return "it agrees with the sum over all paths."


@judge
def check_other_map(answer: Callable[[Tensor, Tensor], Tensor]) -> str:
    """Judge `answer(w, v)`, exercise ex-other-map."""
    draw = normal_draws(0)
    for keys, d_v in ((7, 4), (12, 3), (6, 4)):
        w, v = draw(keys).softmax(dim=0), draw(keys, d_v)
        found = expect_tensor(answer(w, v), what="the result").double()
        shape = tuple(found.shape)
        expect(
            shape == (keys,), f"the result should have shape ({keys},), one weight for each key, not {shape}."
        )
        same = allclose(found, w)
        expect(not same, "these are the given weights; find others with the same output.")
        least, total = found.min().item(), found.sum().item()
        expect(least >= -1e-6, f"a weight is {least:.4f}; none may be negative, so take a shorter step.")
        column = "The direction should also be orthogonal to a column of ones."
        expect(abs(total - 1) < 1e-6, f"the weights sum to {total:.4f}, not to 1. {column}")
        gap = (found @ v - w @ v).abs().max().item()
        expect(gap < 1e-6, f"the output changes by {gap:.4f}; it should stay the same.")
        expect(least < 1e-6, f"the smallest weight is {least:.4f}; go on in this direction until one is 0.")
    return "a different map, and the same output."
