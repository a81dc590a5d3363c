"""The checks of the exercises on comparing with PyTorch reject wrong answers."""

import torch
import torch.nn.functional as F

from tests.solutions import Solutions

solved = Solutions("the_same_as_pytorch")
edited = solved.edited


def gaps(ours, theirs, pairs, src, tgt):
    """Return the relative difference at each pair of names, of the outputs seen there."""
    mine, others = zip(*pairs, strict=True)
    left, right = solved.seen(ours, mine, src, tgt), solved.seen(theirs, others, src, tgt)
    both = {one: zip(left[one], right[other], strict=True) for one, other in pairs}
    return {one: max(((a - b).abs().max() / b.abs().max()).item() for a, b in both[one]) for one in both}


def first_by_list(*given):
    *given, tolerance = given
    return next(iter([name for name, gap in gaps(*given).items() if not gap <= tolerance]), None)


def last(*given):
    *given, tolerance = given
    return next(iter([name for name, gap in reversed(gaps(*given).items()) if not gap <= tolerance]), None)


def largest(*given):
    *given, tolerance = given
    sizes = gaps(*given)
    return max(sizes, key=sizes.get) if max(sizes.values()) > tolerance else None


def attention_by_kernel(theirs, x, hidden):
    qkv = F.linear(x, theirs.in_proj_weight, theirs.in_proj_bias).chunk(3, -1)
    q, k, v = (part.unflatten(-1, (theirs.num_heads, -1)).transpose(1, 2) for part in qkv)
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=~hidden[:, None, None])
    return theirs.out_proj(heads.transpose(1, 2).flatten(2))


def network_by_erf(theirs, x):
    inner = theirs.linear1(x)
    return theirs.linear2(inner * (1 + torch.erf(inner / 2**0.5)) / 2)


def norm_by_torch(theirs, x):
    return F.layer_norm(x, x.shape[-1:], theirs.weight, theirs.bias, theirs.eps)


KERNELS = attention_by_kernel, network_by_erf, norm_by_torch


def copies(**own):
    """Return the three functions of an answer, one of which is another one."""
    return [
        own.get(name, right) for name, right in zip(("attention", "network", "norm"), KERNELS, strict=True)
    ]


PLACES = {2: "encoder 2: norm 2", 3: "decoder 1: self-attention", 4: "decoder 2: norm 3"}


def many_cases(attend):
    rng = torch.Generator().manual_seed(3)
    for _ in range(5):
        q, k, v = (torch.randn(n, 3, generator=rng, dtype=torch.float64) for n in (2, 4, 4))
        mask = torch.rand(2, 4, generator=rng) < 0.7
        mask[:, 0] = True
        powers = (q @ k.T / 3**0.5).exp() * mask
        if (attend(q, k, v, mask) - powers @ v / powers.sum(1, keepdim=True)).abs().max() > 1e-9:
            return False
    return True


def rows_sum(attend):
    ones = torch.ones(2, 3, dtype=torch.float64)
    result = attend(ones, ones, ones, torch.ones(2, 2, dtype=torch.bool))
    return bool((result - 1).abs().max() < 1e-9)


RIGHT = {
    "equal": [torch.tensor([False, True, True, False, False])],
    "first_difference": [first_by_list],
    "copies": [KERNELS],
    "suspects": [PLACES],
    "test": [many_cases],
}
HEADS = ".unflatten(-1, (theirs.num_heads, -1)).transpose(1, 2)\n", ".reshape(*cut)\n"
CUT = "qkv = ", "cut = len(x), theirs.num_heads, x.size(1), -1\n    qkv = "
OPPOSITE = "(hidden[", "(~hidden["
WRONG = {
    "equal": [
        ("your prediction about 0.1 + 0.2 == 0.3 is wrong", [True, True, True, False, False]),
        ("the first roundings are of different sums", [False, True, True, True, False]),
    ],
    "ulps": [
        ("2^−23 is taken as the distance everywhere", lambda a, b: (b - a).abs() * 2**23),
        ("the relative difference is divided by 2^−23", lambda a, b: ((b - a).abs() / a * 2**23).double()),
    ],
    "first_difference": [
        ("It is the last step that differs, not the first", last),
        ("It is the step with the largest gap", largest),
    ],
    "copies": [
        ("the heads are cut out of the rows", *copies(attention=edited("attention", *CUT, *HEADS))),
        ("the mask is inverted", *copies(attention=edited("attention", *OPPOSITE))),
    ],
    "suspects": [
        ("differs, too, but an earlier step does already", {**PLACES, 2: "encoder: final norm"}),
        ("agrees with PyTorch's", {**PLACES, 3: "encoder 1: norm 1"}),
    ],
    "stall": [
        ("One digit more", lambda digits: 2 ** (digits - 1)),
        ("is a power of 2", lambda digits: 2**digits - 1),
    ],
    "test": [
        ("5 of 6 wrong programs pass your test: the scores are not divided by √d_k", rows_sum),
        ("the test fails for the package's attention", edited("test", "1e-9", "0.0")),
    ],
}
