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


RIGHT = {
    check_map: [[True, True, False, True], torch.tensor([True, True, False, True])],
    check_entropy: [mean_entropy, entropy_by_where],
    check_switch_off: [without_head, without_head_by_hand],
    check_word_split: [split, split_by_permutation],
    check_rollout: [
        rollout,
        lambda maps: torch.linalg.multi_dot(
            [*reversed([(m + torch.eye(len(m))) / 2 for m in maps]), torch.eye(len(maps[0])).double()]
        ),
    ],
    check_other_map: [other_weights, lambda w, v: other_weights(w, v).clamp(min=0)],
}


WRONG = {
    check_map: [
        ("your prediction about two heads with the same map is wrong:", [True, True, True, True]),
        ("your prediction about a different map with the same", [True, True, False, False]),
        ("give four answers, one for each statement", [True, True, False]),
    ],
    check_entropy: [
        (
            "a row that attends to one token gives NaN;",
            lambda w, real: -(w * w.log()).sum(dim=-1).transpose(0, 1)[:, real].mean(dim=1),
        ),
        ("padding is averaged, too", lambda w, real: torch.special.entr(w).sum(dim=-1).mean(dim=(0, 2))),
        ("the logarithm has the base 2", lambda w, real: mean_entropy(w, real) / torch.tensor(2.0).log()),
    ],
    check_switch_off: [
        ("a hook is still registered after the call;", lambda *a: without_head(*a, keep=True)),
        ("the weights are not the same as before the call;", zeroed_weights),
        ("columns of the output are replaced", zeroed_rows),
        ("the mean is taken over each sentence", lambda *a: without_head(*a, over=(1,))),
    ],
    check_word_split: [
        (
            "on both sides of the split, there are samples of 64 words",
            lambda words, rng: torch.rand(len(words), generator=rng) < 1 / 3,
        ),
        ("the split does not depend on the generator, so it is the", lambda words, rng: words < 100),
        ("the held-out share should be about a third, but it is", lambda *given: ~split(*given)),
    ],
    check_rollout: [
        ("the maps are multiplied from the last layer to the first", reversed_rollout),
        ("the residual connections are left out", plain_product),
    ],
    check_other_map: [
        (
            "The direction should also be orthogonal to a column of ones",
            lambda w, v: other_weights(w, v, ones=False),
        ),
        ("find others with the same output", lambda w, v: w),
        ("none may be negative, so take a shorter step", lambda w, v: other_weights(w, v, step=2.0)),
    ],
}
