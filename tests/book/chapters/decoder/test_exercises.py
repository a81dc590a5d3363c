"""The checks of the exercises on the decoder reject wrong answers."""

import torch

from annotated_transformer.book.chapters.decoder import exercises as checks
from tests.solutions import Solutions

solved = Solutions("decoder")
edited = solved.edited


def one_step_more(decode, limit):
    written = solved.write_greedily(decode, limit)
    decode(torch.tensor([[1, *written]]))
    return written


def leak_by_each_slot(decode, n, vocab):
    """Change one slot at a time to another token."""
    ids = torch.arange(n)[None] % vocab
    found = torch.tensor(False)
    for place in range(1, n):
        other = ids.clone()
        other[0, place] = (other[0, place] + vocab // 2) % vocab
        found = found | (decode(other)[0, :place] != decode(ids)[0, :place]).any()
    return found


def without_ends(tgt):
    inputs = tgt[:, :-1].masked_fill(tgt[:, :-1] == 2, 0)
    return inputs, torch.cat([inputs[:, 1:], tgt[:, -1:]], dim=1)


def end_last(tgt):
    inputs, labels = without_ends(tgt)
    return inputs, torch.cat([labels[:, :-1], torch.full_like(tgt[:, :1], 2)], dim=1)


def two_apart(tgt):
    return torch.cat([tgt[:, :1], tgt[:, 2:]], dim=1), tgt[:, 1:]


RIGHT = {
    "shifted": [{**checks.SHIFTED, "labels": torch.tensor(checks.SHIFTED["labels"])}],
    "write": [lambda *given: torch.tensor(solved.write_greedily(*given))],
    "leak_test": [leak_by_each_slot],
}
GAP = "decode(mixed)[:, :cut] - decode(ids)[:, :cut]"
NEXT_GAP = "(decode(mixed) - decode(ids))[:, cut - 1]"
NEXT_ONLY = "other[:, cut:]", "other[:, cut : cut + 1], ids[:, cut + 1 :]"
WRONG = {
    "shifted": [
        ("each slot's input is the label", checks.SHIFTED | {"inputs": [[1, 7, 8, 9], [1, 5, 0, 0]]}),
        ("</s> is one, too", checks.SHIFTED | {"labels": [[7, 8, 9, 0], [5, 0, 0, 0]]}),
        ("Labels that are padding do not count", checks.SHIFTED | {"counted": 8}),
    ],
    "decoder_layer": [
        ("self-attention is not masked", edited("decoder_layer", "x, x, future", "x, x")),
        ("cross-attention takes its queries from x", edited("decoder_layer", '"cross", a', '"cross", x')),
    ],
    "write": [
        ("writing begins with padding", edited("write_greedily", "ids = [1]", "ids = [0]")),
        ("the first row of the logits is read", edited("write_greedily", "[0, -1]", "[0, 0]")),
        ("the limit is passed by one word", edited("write_greedily", "<= limit", "<= limit + 1")),
        ("</s> is left out", lambda *given: [token for token in solved.write_greedily(*given) if token != 2]),
        ("after the last word, no more step is needed", one_step_more),
    ],
    "inputs_and_labels": [
        ("it is a column too short", lambda tgt: (tgt[:, :-2], tgt[:, 1:-1])),
        ("it is that of the labels", lambda tgt: (tgt[:, 1:], tgt[:, 1:])),
        ("</s> is removed from the shorter rows", without_ends),
        ("</s> comes after the padding", end_last),
        ("a token is left out, so that an input is no longer the", two_apart),
        ("it begins with padding", lambda tgt: (tgt[:, :-1].where(tgt[:, :-1] != 1, 0), tgt[:, 1:])),
    ],
    "allowed": [
        ("the mask is not used", edited("allowed_pairs", "n * (n + 1) // 2", "n**2")),
        ("each pass is taken to have all n", lambda n, w: solved.allowed_pairs(n, True) * (1 if w else n)),
    ],
    "leak_test": [
        ("a decoder whose first row reads the last word leaks", edited("leaks", *NEXT_ONLY, GAP, NEXT_GAP)),
        ("a decoder that reads the past does not leak", edited("leaks", GAP, "decode(mixed) - decode(ids)")),
        ("a decoder that reads the next word leaks", lambda *given: False),
    ],
}
