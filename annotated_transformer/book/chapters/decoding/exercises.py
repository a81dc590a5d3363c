"""Checks of the exercises of the chapter on decoding (section 6.1 of the paper)."""

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, equal

from annotated_transformer.book.chapters.decoding.step_decoders import END as END_NAME
from annotated_transformer.book.chapters.decoding.step_decoders import TableDecoder
from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import (
    Mistakes,
    as_number,
    expect,
    expect_close,
    expect_no_mistake,
    expect_number,
    expect_shape,
    expect_tensor,
    expect_tuple,
    judge,
)
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength
from annotated_transformer.model.transformer import Transformer

Prefix = tuple[int, ...]
Next = Callable[[Prefix], dict[int, float]]  # from a prefix to the log-probabilities of the next tokens
Found = tuple[Prefix, float]
Past = tuple[Tensor, Tensor] | None
END, LIMIT, SYMBOLS = 2, 5, (3, 4, 5)
TREES = (*range(8), 18, 49)  # in the last two, it matters that a finished hypothesis takes a place
TREE = {
    "": {"Go": 0.4, "Come": 0.35, "No": 0.25},
    "Go": {"on": 0.5, "away": 0.3, "up": 0.2},
    "Come": {"in": 0.6, "back": 0.4},
}


@predictions(
    put="the four texts",
    shows="the likeliest text may begin with an unlikely word, and a mean per token prefers long ones.",
)
def check_search_texts() -> Answers:
    """Judge which texts four searches are predicted to return, exercise ex-predict-search."""
    shares = {first: share for first, share in TREE[""].items() if first not in TREE}
    for first, words in TREE.items():
        if first:
            shares |= {f"{first} {word}": TREE[""][first] * share for word, share in words.items()}
    greedy = max(TREE[""], key=TREE[""].__getitem__)
    kept = sorted(TREE[""], key=TREE[""].__getitem__)[-2:]
    mean = {text: math.log(share) / (len(text.split()) + 1) for text, share in shares.items()}
    first = max((t for t in shares if t.startswith(greedy)), key=shares.__getitem__)
    second = max((t for t in shares if t.split()[0] in kept), key=shares.__getitem__)
    best, long = max(shares, key=shares.__getitem__), max(mean, key=mean.__getitem__)
    looks = "this is the most likely text; this search does not look that far"
    return {
        "greedy": Answer(first, "It takes the most likely word at each step.", {looks: best}),
        "a beam of 2": Answer(second, "It keeps the two most likely first words, and multiplies.",
            {looks: best, "only the most likely first word is continued": first}),
        "exhaustive": Answer(best, "Multiply the shares along each path.",
            {"a text of one word is left out": second, "the most likely word is taken at each step": first}),
        "exhaustive, mean per token": Answer(long,
            "Divide the logarithm by the number of tokens, with the end as one.",
            {"the logarithm is not divided by the number of tokens": best}),
    }  # fmt: skip


def random_tree(seed: int) -> Next:
    """Return log-probabilities that depend on the whole prefix, the same ones each time."""

    def following(prefix: Prefix) -> dict[int, float]:
        place = sum((token - 1) * 5**depth for depth, token in enumerate(prefix))
        logits = 1.5 * draw_normal(1000 * seed + place, len(SYMBOLS) + 1)
        return dict(zip((END, *SYMBOLS), logits.log_softmax(dim=0).tolist(), strict=True))

    return following


def package_beam(following: Next, size: int) -> Found:
    """Return what the package's beam search finds without a penalty."""
    names = "", "", END_NAME, *map(str, SYMBOLS)
    table = {
        " ".join(map(str, prefix)): {names[token]: math.exp(p) for token, p in following(prefix).items()}
        for length in range(LIMIT)
        for prefix in product(SYMBOLS, repeat=length)
    }
    config = TransformerConfig(
        vocab_size=len(names), max_length=LIMIT, num_layers=1, d_model=2, num_heads=1, d_ff=2
    )
    best = beam_search(
        Transformer(config), torch.tensor([[END]]), beam_size=size,
        length_penalty=PlainLength(0.0), decoder=partial(TableDecoder, table, names),
    )  # fmt: skip
    return tuple(token for token in best.ids[0].tolist() if token), best.log_probs.item()


def exhaustive(following: Next, prefix: Prefix = (), log_prob: float = 0.0) -> Found:
    """Return the most likely of all texts."""
    if len(prefix) == LIMIT or (prefix and prefix[-1] == END):
        return prefix, log_prob
    ahead = following(prefix).items()
    return max(
        (exhaustive(following, (*prefix, t), log_prob + p) for t, p in ahead), key=lambda found: found[1]
    )


def _expect_found(result: object, wanted: Found, what: str, mistakes: Callable[[], Mistakes]) -> None:
    given, number = expect_tuple(result, 2, what=f"{what}: the tokens and their log-probability")
    tokens = tuple(map(int, given))
    log_prob = as_number(number, what=f"{what}: the log-probability")
    if tokens != wanted[0]:
        expect_no_mistake(tokens, mistakes(), what=f"{what}: your tokens {tokens}")
        expect(False, f"{what}: the tokens should be {wanted[0]} ({wanted[1]:.3f}), not {tokens}.")
    sums = {
        "the log-probability is divided by the number of tokens": wanted[1] / len(tokens),
        "this is the probability, not its logarithm": math.exp(wanted[1]),
        "the sign is reversed": -wanted[1],
    }
    expect_number(log_prob, wanted[1], what=f"{what}: the log-probability", tolerance=1e-5, mistakes=sums)


def _beams(tree: Next) -> dict[str, Prefix]:
    return {f"this is what a beam of {size} finds": package_beam(tree, size)[0] for size in (1, 2, 3, 5)}


def _naive_beam(
    following: Next,
    size: int,
    *,
    shrink: bool = True,
    add: bool = True,
    first: bool = False,
    mean: bool = False,
) -> Prefix:
    """Return what a beam search with a mistake finds."""
    live: dict[Prefix, float] = {(): 0.0}
    finished: dict[Prefix, float] = {}
    while live:
        grown = {
            (*prefix, token): more + (log_prob if add else 0.0)
            for prefix, log_prob in live.items()
            for token, more in following(prefix).items()
        }
        places = size - (len(finished) if shrink else 0)
        kept = sorted(grown, key=grown.__getitem__, reverse=True)[:places]
        ends = [prefix for prefix in kept if prefix[-1] == END or len(prefix) == LIMIT]
        finished |= {prefix: grown[prefix] for prefix in ends}
        live = {prefix: grown[prefix] for prefix in kept if prefix not in finished}
        if first and finished:
            break
    return max(finished, key=lambda prefix: finished[prefix] / (len(prefix) if mean else 1))


def _mistaken_beam(following: Next, size: int) -> dict[str, Prefix]:
    last, (likeliest, _) = _naive_beam(following, size, add=False), exhaustive(following)
    return {
        "a finished hypothesis lost its place: likelier prefixes took it, or your beam kept its full size": (
            _naive_beam(following, size, shrink=False)
        ),
        "only the last step counts; log-probabilities should be added": last,
        "hypotheses are ranked by log-probability per token; here the sum counts": (
            _naive_beam(following, size, mean=True)
        ),
        "the search ended when the first hypothesis was finished": _naive_beam(following, size, first=True),
        "the beam keeps one prefix, whatever its size": _naive_beam(following, 1),
        "this is the most likely of all texts, which a beam of this size does not find": (likeliest),
    }


@judge
def check_beam(answer: Callable[[Next, int, int, int], Found]) -> str:
    """Judge `answer(following, end, size, limit)`, exercise ex-beam, by the package's search."""
    expect_without(answer, PACKAGE)
    for seed in TREES:
        following = random_tree(seed)
        for size in (1, 2, 3, 5, 4**LIMIT):
            found = answer(following, END, size, LIMIT)
            what = f"with following=checks.random_tree({seed}), end={END}, size={size}, limit={LIMIT}"
            wanted = package_beam(following, size) if size < 4**LIMIT else exhaustive(following)
            _expect_found(found, wanted, what, partial(_mistaken_beam, following, size))
    return "it agrees with the package, and with exhaustive search where the beam is wide enough."


@judge
def check_top_p(answer: Callable[[Tensor, float], Tensor]) -> str:
    """Judge `answer(logits, p)`, exercise ex-top-p, by adding up one token after the other."""
    expect_without(answer, PACKAGE)
    for seed, p in enumerate((0.5, 0.1, 0.9, 1.0)):
        logits = 2 * draw_normal(seed, 3, 7)
        wanted = torch.full_like(logits, -math.inf)
        for row, shares in enumerate(logits.softmax(dim=-1).tolist()):
            total = 0.0
            for token in sorted(range(7), key=lambda token: -shares[token]):
                if total < p:
                    wanted[row, token] = logits[row, token]
                total += shares[token]
        result = expect_tensor(answer(logits, p), what="the result")
        expect_shape(result, logits, what="the result")
        low = bool((result[~wanted.isfinite()] < -1e3).all()) and not bool(result.isinf().any())
        why = "the other tokens should be −∞; a large negative number can still be drawn."
        expect(not low or p == 1.0, why)
        kept, right = result.isfinite(), wanted.isfinite()
        _expect_kept(kept, right, logits, p)
        probabilities = logits.log_softmax(dim=-1)
        mistakes = {
            "these are log-probabilities; the logits should stay as they are": probabilities[kept],
            "these are probabilities; the logits should stay as they are": probabilities.exp()[kept],
            "the logits are sorted; bring them back to their places": logits.sort(descending=True)[0][kept],
        }
        what = f"for p = {p:g}, the list of the kept tokens' logits"
        expect_close(result[kept], logits[kept], what=what, tolerance=1e-9, mistakes=mistakes)
    return "it keeps the fewest tokens that sum to p, in each row."


def _expect_kept(kept: Tensor, right: Tensor, logits: Tensor, p: float) -> None:
    """Stop the check unless the right tokens are kept, and say what may have led to others."""
    shares = logits.softmax(dim=-1)
    falling = shares.sort(dim=-1, descending=True).values
    in_order = falling.cumsum(dim=-1) - falling < p

    mistakes = {
        "the token with which the sum reaches p is dropped; it is needed": right
        & (shares > shares.masked_fill(~right, 2.0).amin(dim=-1, keepdim=True)),
        "the tokens are chosen in sorted order and not brought back to their places": in_order,
        "each token is judged alone; the probabilities should be added, from the largest on": shares >= 1 - p,
        "the least likely tokens are kept": shares.argsort(dim=-1).argsort(dim=-1)
        < right.sum(dim=-1, keepdim=True),
        "nothing is removed": torch.ones_like(right),
    }
    if not equal(kept, right):
        what = f"for p = {p:g}, the choice of tokens"
        expect_no_mistake(kept, mistakes, what=what)
        counts, wanted = kept.sum(dim=1).tolist(), right.sum(dim=1).tolist()
        told = f"in the three rows, you keep {counts} tokens, and {wanted} are right"
        expect(counts == wanted, f"{what} should be different: {told}.")
        expect(False, f"{what} should be different: their numbers are right, but not the tokens.")


@judge
def check_cached_step(answer: Callable[[Tensor, Past, Tensor, Tensor, Tensor], tuple[Tensor, Past]]) -> str:
    """Judge `answer(x, past, w_q, w_k, w_v)`, exercise ex-debug-cache, by one causal pass."""
    x, w_q, w_k, w_v = draw_normal(0, 6, 4), *(draw_normal(seed, 4, 4) for seed in (1, 2, 3))
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    wanted = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    past: Past = None
    outputs = []
    for position in range(6):
        output, past = expect_tuple(answer(x[position : position + 1], past, w_q, w_k, w_v), 2)
        outputs.append(output)
    for position in (3, 0, 1, 2, 4, 5):  # with a few keys in the cache, the mistakes differ
        known, own = slice(0, position + 1), query[position : position + 1]
        scores = own @ key[known].T
        before = slice(0, max(1, position))
        without = (own @ key[before].T / 2).softmax(dim=-1) @ value[before]

        mistakes = {
            "the softmax runs over the queries, of which there is one": value[known].sum(dim=0, keepdim=True),
            "the new key comes after the attention, so the token does not attend to itself": without,
            "neither bug is repaired": value[before].sum(dim=0, keepdim=True),
            "the scores are not divided by √d_k": scores.softmax(dim=-1) @ value[known],
            "nothing is kept from the earlier tokens": value[position : position + 1],
        }
        what = f"the output of token {position + 1}"
        right = wanted[position : position + 1]
        expect_close(outputs[position], right, what=what, tolerance=1e-9, mistakes=mistakes)
    return "all six outputs agree with one causal pass."


@formula(
    *((-1.0, 2, -2.0, 6), (-1.61, 2, -1.71, 5), (-6.0, 1, -7.2, 7), (-3.0, 4, -3.3, 11)),
    shows="at this α, the penalty divides both to the same number.",
)
def check_alpha(log_p_short: float, short: int, log_p_long: float, long: int) -> Answer:
    """Judge `answer(log_p_short, short, log_p_long, long)`, exercise ex-alpha, by halving intervals."""
    low, high = 0.0, 20.0
    for _ in range(60):
        alpha = (low + high) / 2
        lp = GnmtLength(alpha)
        wins = log_p_long / lp(torch.tensor(long).double()) > log_p_short / lp(torch.tensor(short).double())
        low, high = (low, alpha) if wins else (alpha, high)
    quotient, lengths = math.log(log_p_long / log_p_short), (5 + long) / (5 + short)
    mistakes = {
        "the lengths are compared without GNMT's 5 + length": quotient / math.log(long / short),
        "log-probabilities are subtracted; the penalty divides them": (log_p_short - log_p_long)
        / math.log(lengths),
        "the sign is reversed": -high,
        "the quotient is not turned into a logarithm": log_p_long / log_p_short / math.log(lengths),
    }
    return Answer(high, "There, both log-probabilities are equal after they are divided.", mistakes, 1e-4)


@judge
def check_exact(answer: Callable[[Next, int, int], Found]) -> str:
    """Judge `answer(following, end, limit)`, exercise ex-exact, and which prefixes it continued."""
    for seed in TREES:
        tree, continued = random_tree(seed), list[Prefix]()

        def following(
            prefix: Prefix, tree: Next = tree, continued: list[Prefix] = continued
        ) -> dict[int, float]:
            continued.append(tuple(prefix))
            return tree(tuple(prefix))

        wanted = exhaustive(tree)
        what = f"with following=checks.random_tree({seed}), end={END}, limit={LIMIT}"
        _expect_found(answer(following, END, LIMIT), wanted, what, partial(_beams, tree))
        for prefix in continued:
            log_prob = sum(tree(prefix[:place])[token] for place, token in enumerate(prefix))
            why = "Stop when the most likely of all prefixes is finished."
            expect(
                log_prob > wanted[1] - 1e-9,
                f"{what}: the result is right, but you continued {prefix}, whose log-probability "
                f"{log_prob:.3f} is already below that of the result, {wanted[1]:.3f}. {why}",
            )
    return "it finds the most likely text, and continues no prefix that is less likely."
