"""The checks of the exercises on looking inside reject wrong answers."""

import torch

from annotated_transformer.book.chapters.looking_inside.exercises import (
    check_entropy,
    check_map,
    check_other_map,
    check_rollout,
    check_switch_off,
    check_word_split,
)
from tests.answers import faults


def mean_entropy(weights, real):
    return torch.special.entr(weights).sum(dim=-1).transpose(0, 1)[:, real].mean(dim=1)


def without_head(attention, x, head, mean, *, over=(0, 1), keep=False):
    def replace(module, args):
        outputs = args[0].unflatten(-1, (attention.num_heads, -1)).clone()
        own = outputs[..., head, :]
        outputs[..., head, :] = own.mean(dim=over, keepdim=True) if mean else 0.0
        return outputs.flatten(-2)

    hook = attention.to_output.register_forward_pre_hook(replace)
    output = attention(x, x, x)
    if not keep:
        hook.remove()
    return output


def zeroed_weights(attention, x, head, mean):
    attention.to_output.weight.data.unflatten(1, (attention.num_heads, -1))[:, head] = 0
    return attention(x, x, x)


def zeroed_rows(attention, x, head, mean):
    """Zero output features instead of those of the head."""
    output = attention(x, x, x).unflatten(-1, (attention.num_heads, -1)).clone()
    output[..., head, :] = 0
    return output.flatten(-2)


def split(words, rng):
    _, number = words.unique(return_inverse=True)
    return (torch.rand(int(number.max()) + 1, generator=rng) < 1 / 3)[number]


def rollout(maps):
    total = torch.eye(len(maps[0]), dtype=torch.float64)
    for weights in maps:
        total = (weights + torch.eye(len(weights))) / 2 @ total
    return total


def reversed_rollout(maps):
    return rollout(maps[::-1])


def plain_product(maps):
    total = torch.eye(len(maps[0]), dtype=torch.float64)
    for weights in maps:
        total = weights @ total
    return total


def other_weights(w, v, *, ones=True, step=1.0):
    columns = torch.cat([v, torch.ones(len(v), 1)], dim=1) if ones else v
    direction = torch.linalg.svd(columns.T)[2][-1]
    falling = direction < 0
    return w + step * (w[falling] / -direction[falling]).min() * direction


def entropy_by_where(weights, real):
    logs = torch.where(weights > 0, weights, 1.0).log()
    entropy = -(weights * logs).sum(-1)
    return (entropy * real[:, None]).sum(dim=(0, 2)) / real.sum()


def without_head_by_hand(attention, x, head, mean):
    query, (key, value) = attention.project_query(x), attention.project_memory(x, x)
    heads = attention.attention(query, key, value).clone()
    heads[:, head] = heads[:, head].mean(dim=(0, 1)) if mean else 0
    return attention.to_output(heads.transpose(1, 2).flatten(2))


def split_by_permutation(words, rng):
    known = words.unique()
    return torch.isin(words, known[torch.randperm(len(known), generator=rng)[: rng_size(known, rng)]])


def rng_size(known, rng):
    """Return about a third, a little more or less each time."""
    return len(known) // 3 + int(torch.randint(3, (), generator=rng))


RIGHT = [
    (check_map, [True, True, False, True]),
    (check_entropy, mean_entropy),
    (check_switch_off, without_head),
    (check_word_split, split),
    (check_rollout, rollout),
    (check_other_map, other_weights),
    # the same, written differently
    (check_map, torch.tensor([True, True, False, True])),
    (check_entropy, entropy_by_where),
    (check_switch_off, without_head_by_hand),
    (check_word_split, split_by_permutation),
    (
        check_rollout,
        lambda maps: torch.linalg.multi_dot(
            [*reversed([(m + torch.eye(len(m))) / 2 for m in maps]), torch.eye(len(maps[0])).double()]
        ),
    ),
    (check_other_map, lambda w, v: other_weights(w, v).clamp(min=0)),
]


WRONG = [
    ("your prediction about two heads with the same map is wrong:", check_map, [True, True, True, True]),
    ("your prediction about a different map with the same", check_map, [True, True, False, False]),
    ("give four answers, one for each statement", check_map, [True, True, False]),
    (
        "a row that attends to one token gives NaN;",
        check_entropy,
        lambda w, real: -(w * w.log()).sum(dim=-1).transpose(0, 1)[:, real].mean(dim=1),
    ),
    (
        "padding is averaged, too",
        check_entropy,
        lambda w, real: torch.special.entr(w).sum(dim=-1).mean(dim=(0, 2)),
    ),
    (
        "the logarithm has the base 2",
        check_entropy,
        lambda w, real: mean_entropy(w, real) / torch.tensor(2.0).log(),
    ),
    ("a hook is still registered after the call;", check_switch_off, lambda *a: without_head(*a, keep=True)),
    ("the weights are not the same as before the call;", check_switch_off, zeroed_weights),
    ("columns of the output are replaced", check_switch_off, zeroed_rows),
    ("the mean is taken over each sentence", check_switch_off, lambda *a: without_head(*a, over=(1,))),
    (
        "on both sides of the split, there are samples of 64 words",
        check_word_split,
        lambda words, rng: torch.rand(len(words), generator=rng) < 1 / 3,
    ),
    (
        "the split does not depend on the generator, so it is the",
        check_word_split,
        lambda words, rng: words < 100,
    ),
    (
        "the held-out share should be about a third, but it is",
        check_word_split,
        lambda *given: ~split(*given),
    ),
    ("the maps are multiplied from the last layer to the first", check_rollout, reversed_rollout),
    ("the residual connections are left out", check_rollout, plain_product),
    (
        "The direction should also be orthogonal to a column of ones",
        check_other_map,
        lambda w, v: other_weights(w, v, ones=False),
    ),
    ("find others with the same output", check_other_map, lambda w, v: w),
    (
        "none may be negative, so take a shorter step",
        check_other_map,
        lambda w, v: other_weights(w, v, step=2.0),
    ),
]


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG) == []
