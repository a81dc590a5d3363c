"""The checks of the exercises on decoding reject wrong answers."""

import math

import torch

from tests.solutions import Solutions

solved = Solutions("decoding")
edited = solved.edited


def beam_of_lists(following, end, size, limit, *, lasting=True):
    """Keep finished hypotheses in the beam, where they are not continued."""
    kept = [(0.0, ())]
    while any(prefix[-1:] != (end,) and len(prefix) < limit for _, prefix in kept):
        grown = []
        for log_p, prefix in kept:
            if prefix[-1:] == (end,) or len(prefix) == limit:
                grown.append((math.inf if lasting else log_p, log_p, prefix))  # its place is for good
            else:
                for token, more in following(prefix).items():
                    grown.append((log_p + more, log_p + more, (*prefix, token)))
        kept = [(log_p, prefix) for _, log_p, prefix in sorted(grown, reverse=True)[:size]]
    log_p, prefix = max(kept)
    return [list(prefix), torch.tensor(log_p, dtype=torch.float64)]


def divided(*given):
    tokens, log_p = solved.beam(*given)
    return tokens, log_p / len(tokens)


def each_alone(logits, p):
    return logits.masked_fill(logits.softmax(-1) < 1 - p, -math.inf)


def step_in_a_dictionary(x, past, w_q, w_k, w_v):
    past = past or {"keys": [], "values": []}
    past["keys"].append(x @ w_k)
    past["values"].append(x @ w_v)
    keys, values = torch.cat(past["keys"]), torch.cat(past["values"])
    return torch.softmax(keys @ (x @ w_q)[0] * x.size(1) ** -0.5, dim=0)[None] @ values, past


def exact_by_list(following, end, limit):
    open_ends = {(): 0.0}
    while True:
        best = max(open_ends, key=open_ends.get)
        log_p = open_ends.pop(best)
        if best[-1:] == (end,) or len(best) == limit:
            return [*best], log_p
        open_ends |= {(*best, token): log_p + more for token, more in following(best).items()}


def difference(log_p_short, short, log_p_long, long):
    return (log_p_short - log_p_long) / math.log((5 + long) / (5 + short))


RIGHT = {
    "search_texts": [["GO  on ", "come in", "No", "Come in"]],
    "beam": [beam_of_lists],
    "cached_step": [step_in_a_dictionary],
    "exact": [exact_by_list],
}
APPENDED = "keys, values = torch.cat([keys, key]), torch.cat([values, value])"
TOO_LATE = (
    "later = torch.cat([keys, key]), torch.cat([values, value])\n    keys, values = past or (key, value)"
)
WRONG = {
    "search_texts": [
        ("It keeps the two most likely first words, and multiplies", ["Go on", "No", "No", "Come in"]),
        ("Divide the logarithm by the number of tokens, with the", ["Go on", "Come in", "No", "No"]),
        ("greedy, beam of 2, exhaustive, and exhaustive with the mean", ["Go on", "Come in", "No"]),
    ],
    "beam": [
        ("or your beam kept its full size", edited("beam", "size - len(finished)", "size")),
        ("lost its place: likelier prefixes took it", lambda *a: beam_of_lists(*a, lasting=False)),
        ("only the last step counts", edited("beam", "log_p + more", "more")),
        ("the first hypothesis was finished", edited("beam", "while live", "while live and not finished")),
        ("the log-probability is divided by the number of tokens", divided),
        ("one prefix, whatever its size", lambda after, end, size, limit: solved.beam(after, end, 1, limit)),
    ],
    "top_p": [
        (
            "the sum reaches p is dropped",
            edited("top_p", " - falling\n", "\n", ">= p).", "> p).", ">= p)\n", "> p)\n"),
        ),
        ("the tokens are chosen in sorted order", edited("top_p", ".scatter(-1, index, before >= p)", "")),
        ("these are log-probabilities", lambda logits, p: solved.top_p(logits.log_softmax(dim=-1), p)),
        ("each token is judged alone", each_alone),
    ],
    "cached_step": [
        (
            "the new key comes after the attention",
            edited("cached_step", APPENDED, TOO_LATE, "values, (keys, values)", "values, later"),
        ),
        ("the softmax runs over the queries", edited("cached_step", "dim=-1", "dim=0")),
        ("the scores are not divided by √d_k", edited("cached_step", " / math.sqrt(x.size(-1))", "")),
    ],
    "alpha": [
        ("without GNMT's 5 + length", edited("turning_point", "(5 + long) / (5 + short)", "long / short")),
        ("log-probabilities are subtracted", difference),
    ],
    "exact": [
        ("you continued (5,), whose", lambda following, end, limit: solved.beam(following, end, 4, limit)),
        ("the result should be the tokens and their log-prob", lambda *given: solved.exact(*given)[0]),
    ],
}
