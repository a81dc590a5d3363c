"""The checks of the exercises on comparing with PyTorch reject wrong answers."""

import math

import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.the_same_as_pytorch.exercises import (
    check_copies,
    check_equal,
    check_first_difference,
    check_stall,
    check_suspects,
    check_test,
    check_ulps,
)

SPACING = 2.0**-23


def ulps(a, b):
    return (a.view(torch.int32).long() - b.view(torch.int32).long()).abs()


def ulps_by_exponent(a, b):
    """Count within and across powers of 2 by mantissa and exponent."""

    def place(x):
        mantissa, exponent = torch.frexp(x)
        return exponent.long() * 2**23 + ((mantissa.double() - 0.5) * 2**24).long()

    return (place(a) - place(b)).abs()


def seen(model, names, src, tgt, *, remove=True):
    kept, handles = {name: [] for name in names}, []
    for name in names:

        def keep(module, args, out, own=kept[name]):
            own.append(out[0] if isinstance(out, tuple) else out)

        handles.append(model.get_submodule(name).register_forward_hook(keep))
    model(src, tgt)
    for handle in handles if remove else []:
        handle.remove()
    return kept


def found(ours, theirs, pairs, src, tgt, remove=True):
    mine, others = zip(*pairs, strict=True)
    left, right = seen(ours, mine, src, tgt, remove=remove), seen(theirs, others, src, tgt)
    return {
        one: max(
            ((a - b).abs().max() / b.abs().max()).item() for a, b in zip(left[one], right[other], strict=True)
        )
        for one, other in pairs
    }


def first(ours, theirs, pairs, src, tgt, tolerance):
    sizes = found(ours, theirs, pairs, src, tgt)
    return next((name for name, size in sizes.items() if not size <= tolerance), None)


def first_by_list(ours, theirs, pairs, src, tgt, tolerance):
    above = [name for name, size in found(ours, theirs, pairs, src, tgt).items() if not size <= tolerance]
    return above[0] if above else None


def last(ours, theirs, pairs, src, tgt, tolerance):
    above = [name for name, size in found(ours, theirs, pairs, src, tgt).items() if not size <= tolerance]
    return above[-1] if above else None


def largest(ours, theirs, pairs, src, tgt, tolerance):
    sizes = found(ours, theirs, pairs, src, tgt)
    return max(sizes, key=sizes.get) if max(sizes.values()) > tolerance else None


def untolerant(ours, theirs, pairs, src, tgt, tolerance):
    return first(ours, theirs, pairs, src, tgt, 0.0)


def blind_to_nan(ours, theirs, pairs, src, tgt, tolerance):
    sizes = found(ours, theirs, pairs, src, tgt)
    return next((name for name, size in sizes.items() if size > tolerance), None)


def hooked(ours, theirs, pairs, src, tgt, tolerance):
    sizes = found(ours, theirs, pairs, src, tgt, remove=False)
    return next((name for name, size in sizes.items() if not size <= tolerance), None)


def attention(theirs, x, hidden, *, cut=False, opposite=False):
    qkv = F.linear(x, theirs.in_proj_weight, theirs.in_proj_bias).chunk(3, -1)
    if cut:
        q, k, v = (part.reshape(len(x), theirs.num_heads, x.size(1), -1) for part in qkv)
    else:
        q, k, v = (part.unflatten(-1, (theirs.num_heads, -1)).transpose(1, 2) for part in qkv)
    scores = q @ k.mT / math.sqrt(q.size(-1))
    if hidden is not None:
        seen_keys = ~hidden if opposite else hidden
        scores = scores.masked_fill(seen_keys[:, None, None], -math.inf)
    return theirs.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def attention_by_kernel(theirs, x, hidden):
    qkv = F.linear(x, theirs.in_proj_weight, theirs.in_proj_bias).chunk(3, -1)
    q, k, v = (part.unflatten(-1, (theirs.num_heads, -1)).transpose(1, 2) for part in qkv)
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=~hidden[:, None, None])
    return theirs.out_proj(heads.transpose(1, 2).flatten(2))


def network(theirs, x, approximate="none"):
    return theirs.linear2(F.gelu(theirs.linear1(x), approximate=approximate))


def network_by_erf(theirs, x):
    inner = theirs.linear1(x)
    return theirs.linear2(inner * (1 + torch.erf(inner / math.sqrt(2))) / 2)


def norm(theirs, x, correction=0):
    centered = x - x.mean(-1, keepdim=True)
    variance = x.var(-1, keepdim=True, correction=correction)
    return theirs.weight * centered / (variance + theirs.eps).sqrt() + theirs.bias


def norm_by_torch(theirs, x):
    return F.layer_norm(x, x.shape[-1:], theirs.weight, theirs.bias, theirs.eps)


def norm_by_deviation(theirs, x, correction=1):
    centered, deviation = x - x.mean(-1, keepdim=True), x.std(-1, keepdim=True, correction=correction)
    return theirs.weight * centered / (deviation + theirs.eps) + theirs.bias


PLACES = {2: "encoder 2: norm 2", 3: "decoder 1: self-attention", 4: "decoder 2: norm 3"}


def one_case(attend):
    query = torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    key = torch.zeros(3, 4, dtype=torch.float64)
    key[1, 0], key[2, 0] = 2 * math.log(3), 9.0
    value = torch.tensor([[4.0], [8.0], [100.0]], dtype=torch.float64)
    result = attend(query, key, value, torch.tensor([[True, True, False]]))
    return bool((result - 7).abs().max() < 1e-9)


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


def bitwise(attend):
    query, key, value = (torch.randn(3, 4, dtype=torch.float64) for _ in range(3))
    wanted = (query @ key.T / 2).softmax(-1) @ value
    return torch.equal(attend(query, key, value, torch.ones(3, 3, dtype=torch.bool)), wanted + 0.1)


RIGHT = {
    check_equal: [[False, True, True, False, False], torch.tensor([False, True, True, False, False])],
    check_ulps: [ulps, ulps_by_exponent],
    check_first_difference: [first, first_by_list],
    check_copies: [(attention, network, norm), (attention_by_kernel, network_by_erf, norm_by_torch)],
    check_suspects: [PLACES, dict(reversed(PLACES.items()))],
    check_stall: [lambda digits: 2**digits, lambda digits: 1 << digits],
    check_test: [one_case, many_cases],
}

WRONG = {
    check_equal: [
        (
            "your prediction about 0.1 + 0.2 == 0.3 is wrong: none of the three",
            [True, True, True, False, False],
        ),
        ("the first roundings are of different sums", [False, True, True, True, False]),
        ("give five answers, one for each statement", [False, True, True, False]),
        ("give five answers, one for each statement", True),
        ("give five times True or False, not a text", ["False", "True", "True", "False", "False"]),
        ("give five times True or False", [5, 1, 1, 0, 0]),
        ("give five times True or False, not a text", "FTTFF"),
    ],
    check_ulps: [
        ("2^−23 is taken as the distance everywhere", lambda a, b: (b - a).abs() / SPACING),
        ("the relative difference is divided by 2^−23", lambda a, b: ((b - a).abs() / a / SPACING).double()),
        ("take absolute values", lambda a, b: b.view(torch.int32).long() - a.view(torch.int32).long()),
        (
            "the number of steps has no sign; take absolute values",
            lambda a, b: a.view(torch.int32).long() - b.view(torch.int32).long(),
        ),
    ],
    check_first_difference: [
        ("It is the last step that differs, not the first", last),
        ("It is the step with the largest gap", largest),
        ("No NaN is > a number", blind_to_nan),
        ("use the tolerance", untolerant),
        ("a hook is still registered after the call", hooked),
    ],
    check_copies: [
        ("the heads are cut out of the rows", lambda *a: attention(*a, cut=True), network, norm),
        ("the mask is inverted", lambda *a: attention(*a, opposite=True), network, norm),
        ("the mask is not used", lambda t, x, m: attention(t, x, None), network, norm),
        (
            "the attention is that of the copy as it was given",
            lambda *a: attention(*a, cut=True, opposite=True),
            network,
            norm,
        ),
        (
            "the network is that of the copy as it was given",
            attention,
            lambda t, x: network(t, x, "tanh"),
            norm,
        ),
        ("the activation is ReLU", attention, lambda t, x: t.linear2(t.linear1(x).relu()), norm),
        (
            "the answer calls PyTorch's MultiheadAttention itself",
            lambda t, x, m: t(x, x, x, key_padding_mask=m)[0],
            network,
            norm,
        ),
        ("the answer calls PyTorch's TransformerEncoderLayer itself", attention, lambda t, x: t(x), norm),
        ("the answer calls PyTorch's LayerNorm itself", attention, network, lambda t, x: t(x)),
        ("the variance is divided by n − 1", attention, network, lambda t, x: norm(t, x, 1)),
        ("the norm is that of the copy as it was given", attention, network, norm_by_deviation),
        (
            "eps is added to the deviation, and not to the variance",
            attention,
            network,
            lambda *a: norm_by_deviation(*a, correction=0),
        ),
    ],
    check_suspects: [
        ("differs, too, but an earlier step does already", {**PLACES, 2: "encoder: final norm"}),
        ("agrees with PyTorch's", {**PLACES, 3: "encoder 1: norm 1"}),
        ("keep the dictionary", list(PLACES.values())),
        ("is not the label of a step", {**PLACES, 4: "decoder.layers.1"}),
    ],
    check_stall: [
        ("One digit more", lambda digits: 2 ** (digits - 1)),
        ("is a power of 2", lambda digits: 2**digits - 1),
        ("the even one is taken", lambda digits: 2 ** (digits + 1)),
    ],
    check_test: [
        ("5 of 6 wrong programs pass your test: the scores are not divided by √d_k", rows_sum),
        ("the test fails for the package's attention, which is right", bitwise),
    ],
}
