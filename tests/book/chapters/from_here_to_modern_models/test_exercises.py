"""The checks of the exercises on what changed since 2017 reject wrong answers."""

import math

import torch

from annotated_transformer.book.chapters.from_here_to_modern_models.exercises import (
    check_cache,
    check_gated_width,
    check_grouped,
    check_rolling,
    check_rotary,
    check_seen,
)


def rotary(x, positions, base, *, sign=1, halves=False, power=2.0, counted=False):
    d = x.size(-1)
    places = torch.arange(len(x)) if counted else positions
    speeds = base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d * power / 2)
    angles = sign * places.to(x.dtype)[:, None] * speeds
    first, second = x.chunk(2, dim=-1) if halves else (x[:, 0::2], x[:, 1::2])
    turned = (
        first * angles.cos() - second * angles.sin(),
        first * angles.sin() + second * angles.cos(),
    )
    return torch.cat(turned, dim=-1) if halves else torch.stack(turned, dim=-1).flatten(1)


def rotary_in_place(x, positions, base):
    d = x.size(-1)
    for row, place in zip(x, positions.tolist(), strict=True):
        for i in range(0, d, 2):
            angle = place / base ** (i / d)
            row[i] = row[i] * math.cos(angle) - row[i + 1] * math.sin(angle)
            row[i + 1] = row[i] * math.sin(angle) + row[i + 1] * math.cos(angle)
    return x


def not_interleaved(x, positions, base):
    turned = rotary(x, positions, base)
    return torch.cat([turned[:, 0::2], turned[:, 1::2]], dim=1)


def complex_rotary(x, positions, base):
    d = x.size(-1)
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(-2)


def grouped(query, key, value, *, interleave=True, features=True):
    group = query.size(0) // key.size(0)
    if interleave:
        key, value = key.repeat_interleave(group, dim=0), value.repeat_interleave(group, dim=0)
    else:
        key, value = key.repeat(group, 1, 1), value.repeat(group, 1, 1)
    root = math.sqrt(query.size(-1 if features else 0))
    return (query @ key.transpose(1, 2) / root).softmax(dim=-1) @ value


def grouped_by_einsum(query, key, value):
    split = query.unflatten(0, (key.size(0), -1))
    scores = torch.einsum("kgqd,knd->kgqn", split, key) * query.size(-1) ** -0.5
    return torch.einsum("kgqn,knd->kgqd", scores.softmax(-1), value).flatten(0, 1)


def rolling(query, key, value, past, window, *, keep=0, drop=True, itself=True, scale=True):
    keys, values = past or (key[None][:0], value[None][:0])
    after = torch.cat([keys, key[None]]), torch.cat([values, value[None]])
    if drop:
        after = tuple(x[-(window + keep) :] for x in after)
    read_keys, read_values = after if itself or not len(keys) else (keys, values)
    scores = read_keys @ query / (math.sqrt(len(query)) if scale else 1.0)
    return scores.softmax(dim=0) @ read_values, after


def ring(query, key, value, past, window):
    past = past or {"keys": [], "values": [], "next": [0]}
    place = past["next"].pop()
    for name, new in (("keys", key), ("values", value)):
        past[name][place : place + 1] = [new]
    past["next"].append((place + 1) % window)
    weights = torch.softmax(torch.stack(past["keys"]) @ query * len(query) ** -0.5, dim=0)
    return weights @ torch.stack(past["values"]), past


def masked(query, key, value, past, window):
    """Compute the right output, but keep everything."""
    keys, values = past or (key[None][:0], value[None][:0])
    after = torch.cat([keys, key[None]]), torch.cat([values, value[None]])
    weights = (after[0][-window:] @ query / 2).softmax(dim=0)
    return weights @ after[1][-window:], after


def seen(windows, n):
    return n if 0 in windows else min(n, 1 + sum(window - 1 for window in windows))


def seen_by_steps(windows, n):
    first = n - 1
    for window in windows:
        first = max(0, first - window + 1) if window else 0
    return n - first


RIGHT = {
    check_cache: [[96, 24, 6], ((96.0, 24.0, torch.tensor(6)),)],
    check_rotary: [rotary, complex_rotary],
    check_grouped: [grouped, grouped_by_einsum],
    check_gated_width: [
        lambda d, f, g: (2 * d * f + 2 * (1 - g) * d * d) / (3 * d),
        lambda d, f, g: 2 / 3 * f + 2 / 3 * d - 2 / 3 * g * d,
    ],
    check_seen: [seen, seen_by_steps],
    check_rolling: [rolling, ring],
}


WRONG = {
    check_cache: [
        ("or values are left out", [48, 12, 3]),
        ("only one layer is counted", [4, 1, 0.25]),
        ("these are bytes; a KiB is 1,024 of them", [98304, 24576, 6144]),
        ("give three numbers", [96, 24]),
        ("give three numbers", 96),
        ("a KiB is 1,024 bytes, not 1,000", [98.304, 24.576, 6.144]),
    ],
    check_rotary: [
        ("it turns in the other direction", lambda *a: rotary(*a, sign=-1)),
        ("features i and i + d/2 are taken as a pair", lambda *a: rotary(*a, halves=True)),
        ("the first feature of a pair is overwritten", rotary_in_place),
        ("the first features of all pairs stand before the second ones", not_interleaved),
        ("the exponent is i/d instead of 2i/d", lambda *a: rotary(*a, power=1.0)),
        ("the given positions are not used", lambda *a: rotary(*a, counted=True)),
    ],
    check_grouped: [
        ("neither bug is repaired", lambda *a: grouped(*a, interleave=False, features=False)),
        ("the heads are still repeated as a, b, a, b", lambda *a: grouped(*a, interleave=False)),
        ("divided by the root of the number of heads", lambda *a: grouped(*a, features=False)),
    ],
    check_gated_width: [
        ("what grouped queries save is not used", lambda d, f, g: 2 / 3 * f),
        ("the gate is not counted", lambda d, f, g: f + (1 - g) * d),
    ],
    check_seen: [
        (
            "each window counts the token itself again",
            lambda windows, n: n if 0 in windows else min(n, sum(windows)),
        ),
        (
            "the result can be larger than n",
            lambda windows, n: n if 0 in windows else 1 + sum(w - 1 for w in windows),
        ),
        (
            "only the largest window is counted",
            lambda windows, n: n if 0 in windows else min(n, max(windows)),
        ),
        ("a window of 0 is counted as −1 token", lambda windows, n: min(n, 1 + sum(w - 1 for w in windows))),
    ],
    check_rolling: [
        ("the window is not applied", lambda *a: rolling(*a, drop=False)),
        ("one token too many is kept", lambda *a: rolling(*a, keep=1)),
        ("the newest token does not see itself", lambda *a: rolling(*a, itself=False)),
        ("the scores are not divided by √d", lambda *a: rolling(*a, scale=False)),
        ("the cache holds", masked),
        ("return two things", lambda *a: rolling(*a)[0]),
    ],
}
