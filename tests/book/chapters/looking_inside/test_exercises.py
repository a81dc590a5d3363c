"""The checks of the exercises on looking inside reject wrong answers."""

import torch

from tests.solutions import Solutions

solved = Solutions("looking_inside")
edited = solved.edited


def zeroed_weights(attention, x, head, mean):
    attention.to_output.weight.data.unflatten(1, (attention.num_heads, -1))[:, head] = 0
    return attention(x, x, x)


def zeroed_rows(attention, x, head, mean):
    """Zero output features instead of those of the head."""
    output = attention(x, x, x).unflatten(-1, (attention.num_heads, -1)).clone()
    output[..., head, :] = 0
    return output.flatten(-2)


def without_head_by_hand(attention, x, head, mean):
    query, (key, value) = attention.project_query(x), attention.project_memory(x, x)
    heads = attention.attention(query, key, value).clone()
    heads[:, head] = heads[:, head].mean(dim=(0, 1)) if mean else 0
    return attention.to_output(heads.transpose(1, 2).flatten(2))


def split_by_permutation(words, rng):
    """Hold out about a third, a little more or less each time."""
    known = words.unique()
    size = len(known) // 3 + int(torch.randint(3, (), generator=rng))
    return torch.isin(words, known[torch.randperm(len(known), generator=rng)[:size]])


RIGHT = {
    "map": [torch.tensor([True, True, False, True])],
    "switch_off": [without_head_by_hand],
    "word_split": [split_by_permutation],
    "other_map": [edited("other_weights", ".clamp(min=0)", "")],
}
SOFT, HOOKED = "torch.special.entr(weights)", "with attention.to_output.register_forward_pre_hook(replace):"
WRONG = {
    "map": [
        ("your prediction about two heads with the same map is wrong:", [True, True, True, True]),
        ("your prediction about a different map with the same", [True, True, False, False]),
        ("give four answers, one for each statement", [True, True, False]),
    ],
    "entropy": [
        ("attends to one token gives NaN;", edited("mean_entropy", SOFT, "-(weights * weights.log())")),
        ("padding is averaged, too", edited("mean_entropy", "[:, real].mean(dim=1)", ".mean(dim=(1, 2))")),
        ("logarithm has the base 2", lambda *given: solved.mean_entropy(*given) / torch.tensor(2.0).log()),
    ],
    "switch_off": [
        ("a hook is still registered", edited("without_head", HOOKED, f"if {HOOKED[5:]}")),
        ("the weights are not the same as before the call;", zeroed_weights),
        ("columns of the output are replaced", zeroed_rows),
        ("the mean is taken over each sentence", edited("without_head", "dim=(0, 1)", "dim=1, keepdim=True")),
    ],
    "word_split": [
        ("on both sides of the split", lambda words, rng: torch.rand(len(words), generator=rng) < 1 / 3),
        ("the split does not depend on the generator, so it is the", lambda words, rng: words < 100),
        ("the held-out share should be about a third", lambda *given: ~solved.held_out_samples(*given)),
    ],
    "rollout": [
        ("the maps are multiplied from the last layer to the first", lambda maps: solved.rollout(maps[::-1])),
        ("the residual connections", edited("rollout", "(weights + torch.eye(len(weights))) / 2", "weights")),
    ],
    "other_map": [
        ("orthogonal to a column of ones", edited("other_weights", "[v, torch.ones(len(v), 1)]", "[v]")),
        ("find others with the same output", lambda w, v: w),
        (
            "none may be negative, so take a shorter step",
            edited("other_weights", "w + step", "w + 2 * step", ".clamp(min=0)", ""),
        ),
    ],
}
