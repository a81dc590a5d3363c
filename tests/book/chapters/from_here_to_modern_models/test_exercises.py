"""The checks of the exercises on what changed since 2017 reject wrong answers."""

import math

import torch

from tests.solutions import Solutions

solved = Solutions("from_here_to_modern_models")
edited = solved.edited


def rotary(x, positions, base, *, halves=False):
    d = x.size(-1)
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    first, second = x.chunk(2, dim=-1) if halves else (x[:, 0::2], x[:, 1::2])
    turned = first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()
    return torch.cat(turned, dim=-1) if halves else torch.stack(turned, dim=-1).flatten(1)


def rotary_in_place(x, positions, base):
    d = x.size(-1)
    for row, place in zip(x, positions.tolist(), strict=True):
        for i in range(0, d, 2):
            angle = place / base ** (i / d)
            row[i] = row[i] * math.cos(angle) - row[i + 1] * math.sin(angle)
            row[i + 1] = row[i] * math.sin(angle) + row[i + 1] * math.cos(angle)
    return x


def not_interleaved(*given):
    turned = solved.rotary(*given)
    return torch.cat([turned[:, 0::2], turned[:, 1::2]], dim=1)


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


RIGHT = {"cache": [((96.0, 24.0, torch.tensor(6)),)], "rotary": [rotary], "rolling": [ring]}
IN_TURN = "x.repeat_interleave(group, dim=0)", "x.repeat(group, 1, 1)"
BY_HEADS = "query.size(-1)", "query.size(0)"
SUM = "min(n, 1 + sum(window - 1 for window in windows))"
KEYS, VALUES = "keys, key[None]])", "values, value[None]])"
WINDOW, ONE_MORE = "[-window:]", "[-window - 1 :]"
PAST = "weights = (keys", "read = past or (keys, values)\n    weights = (read[0]", "@ values,", "@ read[1],"
WRONG = {
    "cache": [
        ("or values are left out", [48, 12, 3]),
        ("only one layer is counted", [4, 1, 0.25]),
        ("these are bytes; a KiB is 1,024 of them", [98304, 24576, 6144]),
        ("give three numbers", [96, 24]),
        ("give three numbers", 96),
        ("a KiB is 1,024 bytes, not 1,000", [98.304, 24.576, 6.144]),
    ],
    "rotary": [
        ("it turns in the other direction", edited("rotary", "positions.to", "-positions.to")),
        ("features i and i + d/2 are taken as a pair", lambda *given: rotary(*given, halves=True)),
        ("the first feature of a pair is overwritten", rotary_in_place),
        ("the first features of all pairs stand before the second ones", not_interleaved),
        ("the exponent is i/d instead of 2i/d", edited("rotary", "/ d)", "/ d / 2)")),
        ("the given positions are not used", edited("rotary", "positions.to", "torch.arange(len(x)).to")),
    ],
    "grouped": [
        ("neither bug is repaired", edited("grouped", *IN_TURN, *BY_HEADS)),
        ("the heads are still repeated as a, b, a, b", edited("grouped", *IN_TURN)),
        ("divided by the root of the number of heads", edited("grouped", *BY_HEADS)),
    ],
    "gated_width": [
        ("what grouped queries save is not used", lambda d, f, g: 2 / 3 * f),
        ("the gate is not counted", lambda d, f, g: f + (1 - g) * d),
    ],
    "seen": [
        ("each window counts the token itself again", edited("seen", SUM, "min(n, sum(windows))")),
        ("the result can be larger than n", edited("seen", SUM, "1 + sum(window - 1 for window in windows)")),
        ("only the largest window is counted", edited("seen", SUM, "min(n, max(windows))")),
        ("a window of 0 is counted as −1 token", edited("seen", "if 0 in windows:", "if False:")),
    ],
    "rolling": [
        ("the window is not applied", edited("rolling", KEYS + WINDOW, KEYS, VALUES + WINDOW, VALUES)),
        (
            "one token too many is kept",
            edited("rolling", KEYS + WINDOW, KEYS + ONE_MORE, VALUES + WINDOW, VALUES + ONE_MORE),
        ),
        ("the newest token does not see itself", edited("rolling", *PAST)),
        ("the scores are not divided by √d", edited("rolling", " / math.sqrt(len(query))", "")),
        ("the cache holds", masked),
        ("return two things", lambda *given: solved.rolling(*given)[0]),
    ],
}
