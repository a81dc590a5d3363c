"""The checks of the exercises on the decoder reject wrong answers."""

import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.decoder.exercises import (
    SHIFTED,
    check_allowed,
    check_decoder_layer,
    check_inputs_and_labels,
    check_leak_test,
    check_shifted,
    check_write,
)


def varied(*, masked=True, cross="a"):
    """Return a decoder layer, optionally with one deliberate change."""

    def layer(x, z, w):
        def attend(kind, x, read, hidden):
            query, key, value = (
                y @ w[f"{kind}_{n}"] for y, n in ((x, "query"), (read, "key"), (read, "value"))
            )
            scores = (query @ key.T / query.size(-1) ** 0.5).masked_fill(hidden, -torch.inf)
            return scores.softmax(dim=-1) @ value @ w[f"{kind}_output"]

        def norm(y):
            return F.layer_norm(y, y.shape[-1:])

        hidden = torch.ones(len(x), len(x), dtype=torch.bool).triu(1) & masked
        a = norm(x + attend("self", x, x, hidden))
        b = norm(a + attend("cross", {"a": a, "x": x}[cross], z, torch.tensor(False)))
        return norm(b + (b @ w["expand"]).relu() @ w["contract"])

    return layer


def writer(*, start=1, row=-1, extra=0):
    """Return a greedy decoding loop, optionally with one deliberate change."""

    def write(decode, limit):
        ids = [start]
        while len(ids) <= limit + extra and (len(ids) == 1 or ids[-1] != 2):
            ids.append(decode(torch.tensor([ids]))[0, row].argmax().item())
        return ids[1:]

    return write


def one_step_more(decode, limit):
    written = writer()(decode, limit)
    decode(torch.tensor([[1, *written]]))
    return written


def pair_count(n, whole):
    return n * (n + 1) // 2 if whole else n * (n + 1) * (n + 2) // 6


def leak_test(decode, n, vocab, *, reach=None, low=1):
    rng = torch.Generator().manual_seed(0)
    for _ in range(5):
        ids, other = torch.randint(vocab, (2, 1, n), generator=rng)
        for cut in range(low, n):
            mixed = ids.clone()
            end = n if reach is None else cut + reach
            mixed[:, cut:end] = other[:, cut:end]
            first = 0 if reach is None else cut - 1
            rows = slice(first, cut + 1 - low)
            if (decode(mixed)[:, rows] - decode(ids)[:, rows]).abs().max() > 1e-9:
                return True
    return False


def layer_by_kernel(x, z, w):
    def read(kind, asking, source, causal):
        query, key, value = (
            asking @ w[f"{kind}_query"],
            source @ w[f"{kind}_key"],
            source @ w[f"{kind}_value"],
        )
        return F.scaled_dot_product_attention(query, key, value, is_causal=causal) @ w[f"{kind}_output"]

    x = F.layer_norm(read("self", x, x, True) + x, x.shape[1:])
    x = F.layer_norm(read("cross", x, z, False) + x, x.shape[1:])
    return F.layer_norm((x @ w["expand"]).clamp(min=0) @ w["contract"] + x, x.shape[1:])


def writer_of_tensors(decode, limit):
    ids = torch.tensor([[1]])
    for _ in range(limit):
        ids = torch.cat([ids, decode(ids)[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
        if ids[0, -1] == 2:
            break
    return ids[0, 1:]


def leak_by_each_slot(decode, n, vocab):
    """Change one slot at a time to another token."""
    ids = torch.arange(n)[None] % vocab
    found = torch.tensor(False)
    for place in range(1, n):
        other = ids.clone()
        other[0, place] = (other[0, place] + vocab // 2) % vocab
        found = found | (decode(other)[0, :place] != decode(ids)[0, :place]).any()
    return found


RIGHT = {
    check_shifted: [
        SHIFTED,
        {"inputs": ((1, 7, 8, 9), (1, 5, 2, 0)), "labels": torch.tensor(SHIFTED["labels"]), "counted": 6.0},
    ],
    check_decoder_layer: [varied(), layer_by_kernel],
    check_write: [writer(), writer_of_tensors],
    check_inputs_and_labels: [
        lambda tgt: (tgt[:, :-1], tgt[:, 1:]),
        lambda tgt: [tgt.narrow(1, 0, tgt.size(1) - 1), tgt.roll(-1, 1)[:, :-1]],
    ],
    check_allowed: [
        pair_count,
        lambda n, whole: sum(i * (i + 1) / 2 for i in ([n] if whole else range(1, n + 1))),
    ],
    check_leak_test: [leak_test, leak_by_each_slot],
}


def without_ends(tgt):
    inputs = tgt[:, :-1].masked_fill(tgt[:, :-1] == 2, 0)
    return inputs, torch.cat([inputs[:, 1:], tgt[:, -1:]], dim=1)


def end_last(tgt):
    inputs = tgt[:, :-1].masked_fill(tgt[:, :-1] == 2, 0)
    return inputs, torch.cat([inputs[:, 1:], torch.full_like(tgt[:, :1], 2)], dim=1)


def two_apart(tgt):
    return torch.cat([tgt[:, :1], tgt[:, 2:]], dim=1), tgt[:, 1:]


WRONG = {
    check_shifted: [
        (
            "They begin with <s>, and each slot's input is the label",
            SHIFTED | {"inputs": [[1, 7, 8, 9], [1, 5, 0, 0]]},
        ),
        (
            "Each slot's label is the next token, and </s> is one, too",
            SHIFTED | {"labels": [[7, 8, 9, 0], [5, 0, 0, 0]]},
        ),
        ("Labels that are padding do not count", SHIFTED | {"counted": 8}),
    ],
    check_decoder_layer: [
        ("self-attention is not masked", varied(masked=False)),
        ("cross-attention takes its queries from x", varied(cross="x")),
    ],
    check_write: [
        ("writing begins with padding instead of <s>", writer(start=0)),
        ("the first row of the logits is read", writer(row=0)),
        ("the limit is passed by one word", writer(extra=1)),
        (
            "</s> is left out",
            lambda decode, limit: [token for token in writer()(decode, limit) if token != 2],
        ),
        ("after the last word, no more step is needed", one_step_more),
    ],
    check_inputs_and_labels: [
        (
            "it is a column too short, and the longest rows lose their",
            lambda tgt: (tgt[:, :-2], tgt[:, 1:-1]),
        ),
        ("it is that of the labels", lambda tgt: (tgt[:, 1:], tgt[:, 1:])),
        ("</s> is removed from the shorter rows", without_ends),
        ("</s> comes after the padding", end_last),
        ("a token is left out, so that an input is no longer the", two_apart),
        (
            "it begins with padding instead of <s>",
            lambda tgt: (tgt[:, :-1].masked_fill(tgt[:, :-1] == 1, 0), tgt[:, 1:]),
        ),
    ],
    check_allowed: [
        (
            "the mask is not used: a query may not look at later keys",
            lambda n, whole: n**2 if whole else pair_count(n, whole),
        ),
        ("each pass is taken to have all n slots", lambda n, w: pair_count(n, True) * (1 if w else n)),
    ],
    check_leak_test: [
        (
            "a decoder whose first row reads the last word leaks, but",
            lambda *given: leak_test(*given, reach=1),
        ),
        ("a decoder that reads the past does not leak, but you", lambda *given: leak_test(*given, low=0)),
        ("a decoder that reads the next word leaks, but you found", lambda *given: False),
    ],
}
