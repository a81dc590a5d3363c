"""Checks of the exercises of the chapter on decoding (section 6.1 of the paper)."""

import math
from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor

from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.verdict import expect, expect_close, judge
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


@judge
def check_search_texts(answer: Sequence[str] | None) -> str:
    """Judge which texts four searches are predicted to return, exercise ex-predict-search."""
    expect(answer is not None, "your answer is still empty; put the four texts in its place.")
    predicted = [str(text).strip() for text in answer or ()]
    expect(
        len(predicted) == 4, "give four texts: greedy, beam of 2, exhaustive, and exhaustive with the mean."
    )
    shares = {first: share for first, share in TREE[""].items() if first not in TREE}
    for first, words in TREE.items():
        if first:
            shares |= {f"{first} {word}": TREE[""][first] * share for word, share in words.items()}
    greedy = max(TREE[""], key=TREE[""].__getitem__)
    kept = sorted(TREE[""], key=TREE[""].__getitem__)[-2:]
    mean = {text: math.log(share) / (len(text.split()) + 1) for text, share in shares.items()}
    wanted = {
        "greedy": max((t for t in shares if t.startswith(greedy)), key=shares.__getitem__),
        "a beam of 2": max((t for t in shares if t.split()[0] in kept), key=shares.__getitem__),
        "exhaustive": max(shares, key=shares.__getitem__),
        "exhaustive, mean per token": max(mean, key=mean.__getitem__),
    }
    for got, (name, text) in zip(predicted, wanted.items(), strict=True):
        expect(got == text, f"{name}: not {got!r}; multiply along the paths that this search follows.")
    return "all four texts are right."


def random_tree(seed: int) -> Next:
    """Return log-probabilities that depend on the whole prefix, the same ones each time."""

    def following(prefix: Prefix) -> dict[int, float]:
        place = sum((token - 1) * 5**depth for depth, token in enumerate(prefix))
        logits = 1.5 * draw_normal(1000 * seed + place, len(SYMBOLS) + 1)
        return dict(zip((END, *SYMBOLS), logits.log_softmax(dim=0).tolist(), strict=True))

    return following


class TreeDecoder:
    """The tree as a step decoder of the package."""

    def __init__(self, following: Next, src: Tensor) -> None:
        """Begin with nothing."""
        self.following = following
        self.texts: list[Prefix | None] = [None] * len(src)

    def step(self, tokens: Tensor) -> Tensor:
        """Append a token, the first of which is BOS."""
        self.texts = [
            () if text is None else (*text, token)
            for text, token in zip(self.texts, tokens.tolist(), strict=True)
        ]
        logits = torch.full((len(self.texts), max(SYMBOLS) + 1), -math.inf, dtype=torch.float64)
        for row, text in enumerate(self.texts):
            for token, log_prob in self.following(text or ()).items():
                logits[row, token] = log_prob
        return logits

    def select(self, rows: Tensor) -> None:
        """Keep some rows."""
        self.texts = [self.texts[row] for row in rows.tolist()]


def package_beam(following: Next, size: int) -> Found:
    """Return what the package's beam search finds without a penalty."""
    model = Transformer(
        TransformerConfig(
            vocab_size=max(SYMBOLS) + 1, max_length=LIMIT, num_layers=1, d_model=2, num_heads=1, d_ff=2
        )
    )
    best = beam_search(
        model,
        torch.tensor([[END]]),
        beam_size=size,
        length_penalty=PlainLength(0.0),
        decoder=lambda _, src: TreeDecoder(following, src),
    )
    return tuple(token for token in best.ids[0].tolist() if token), best.log_probs.item()


def exhaustive(following: Next, prefix: Prefix = (), log_prob: float = 0.0) -> Found:
    """Return the most likely of all texts."""
    if len(prefix) == LIMIT or (prefix and prefix[-1] == END):
        return prefix, log_prob
    ahead = following(prefix).items()
    return max(
        (exhaustive(following, (*prefix, t), log_prob + p) for t, p in ahead), key=lambda found: found[1]
    )


def _expect_found(result: object, wanted: Found, what: str) -> None:
    expect(
        isinstance(result, tuple) and len(result) == 2, f"{what}: return the tokens and the log-probability."
    )
    tokens, log_prob = tuple(cast(Found, result)[0]), float(cast(Found, result)[1])
    expect(
        tokens == wanted[0],
        f"{what}: you found {tokens} with log-probability {log_prob:.3f}; it should be {wanted[0]} "
        f"with {wanted[1]:.3f}.",
    )
    expect(
        abs(log_prob - wanted[1]) < 1e-5,
        f"{what}: the tokens are right, but their log-probability is {wanted[1]:.3f}, not {log_prob:.3f}.",
    )


@judge
def check_beam(answer: Callable[[Next, int, int, int], Found]) -> str:
    """Judge `answer(following, end, size, limit)`, exercise ex-beam, by the package's search."""
    for seed in TREES:
        following = random_tree(seed)
        for size in (1, 2, 3, 5):
            found = answer(following, END, size, LIMIT)
            _expect_found(found, package_beam(following, size), f"tree {seed}, beam of {size}")
        found = answer(following, END, 4**LIMIT, LIMIT)
        _expect_found(found, exhaustive(following), f"tree {seed}, a beam that drops nothing")
    return "it agrees with the package, and with exhaustive search where the beam is wide enough."


@judge
def check_top_p(answer: Callable[[Tensor, float], Tensor]) -> str:
    """Judge `answer(logits, p)`, exercise ex-top-p, by adding up one token after the other."""
    for seed, p in enumerate((0.1, 0.5, 0.9, 1.0)):
        logits = 2 * draw_normal(seed, 3, 7)
        wanted = torch.full_like(logits, -math.inf)
        for row, shares in enumerate(logits.softmax(dim=-1).tolist()):
            total = 0.0
            for token in sorted(range(7), key=lambda token: -shares[token]):
                if total < p:
                    wanted[row, token] = logits[row, token]
                total += shares[token]
        result = answer(logits.clone(), p)
        expect(
            isinstance(result, Tensor) and result.shape == logits.shape,
            "return a tensor shaped like `logits`.",
        )
        kept, right = result.isfinite(), wanted.isfinite()
        expect(
            bool((kept == right).all()),
            f"for p = {p:g}, you keep {kept.sum(dim=1).tolist()} tokens of the three rows, or not the right "
            f"ones; it should be {right.sum(dim=1).tolist()}.",
        )
        expect_close(result[kept], logits[kept], what="the logits of the kept tokens", tolerance=1e-9)
    return "it keeps the fewest tokens that sum to p, in each row."


@judge
def check_cached_step(answer: Callable[[Tensor, Past, Tensor, Tensor, Tensor], tuple[Tensor, Past]]) -> str:
    """Judge `answer(x, past, w_q, w_k, w_v)`, exercise ex-debug-cache, by one causal pass."""
    x, w_q, w_k, w_v = draw_normal(0, 6, 4), *(draw_normal(seed, 4, 4) for seed in (1, 2, 3))
    scores = (x @ w_q) @ (x @ w_k).T / math.sqrt(4)
    hidden = torch.ones(6, 6, dtype=torch.bool).triu(1)
    wanted = scores.masked_fill(hidden, -math.inf).softmax(dim=-1) @ (x @ w_v)
    past: Past = None
    for position in range(6):
        output, past = answer(x[position : position + 1], past, w_q, w_k, w_v)
        what = f"the output of token {position + 1}"
        expect_close(output, wanted[position : position + 1], what=what, tolerance=1e-9)
    return "all six outputs agree with one causal pass."


@judge
def check_alpha(answer: Callable[[float, int, float, int], float]) -> str:
    """Judge `answer(log_p_short, short, log_p_long, long)`, exercise ex-alpha, by halving intervals."""
    for case in ((-1.0, 2, -2.0, 6), (-1.61, 2, -1.71, 5), (-6.0, 1, -7.2, 7), (-3.0, 4, -3.3, 11)):
        log_p_short, short, log_p_long, long = case
        low, high = 0.0, 20.0
        for _ in range(60):
            alpha = (low + high) / 2
            lp = GnmtLength(alpha)
            wins = log_p_long / lp(torch.tensor(long).double()) > log_p_short / lp(
                torch.tensor(short).double()
            )
            low, high = (low, alpha) if wins else (alpha, high)
        found = float(answer(log_p_short, short, log_p_long, long))
        expect(
            abs(found - high) < 1e-6,
            f"for {case} your answer is {found:.4f}, but the longer one begins to win at {high:.4f}.",
        )
    return "it agrees with a search for the turning point."


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
        _expect_found(answer(following, END, LIMIT), wanted, f"tree {seed}")
        for prefix in continued:
            log_prob = sum(tree(prefix[:place])[token] for place, token in enumerate(prefix))
            expect(
                log_prob > wanted[1] - 1e-9,
                f"tree {seed}: you continued {prefix}, whose log-probability {log_prob:.3f} is already below "
                f"that of the result, {wanted[1]:.3f}.",
            )
    return "it finds the most likely text, and continues no prefix that is less likely."
