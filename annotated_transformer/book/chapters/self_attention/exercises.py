"""Checks of the exercises of the chapter on self-attention (sections 2 and 3.2.3 of the paper)."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, equal

from annotated_transformer.book.chapters.self_attention.pronouns import (
    IT,
    NOUNS,
    encode_pronouns,
    pronoun_sentences,
)
from annotated_transformer.book.chapters.self_attention.self_attention import SelfAttention
from annotated_transformer.book.exercises.answers import Answer, Answers, predictions
from annotated_transformer.book.exercises.inputs import draw_normal, mistaken_attention
from annotated_transformer.book.exercises.verdict import (
    expect,
    expect_close,
    expect_number,
    expect_tuple,
    judge,
    plural,
)
from annotated_transformer.model.attention import attention_weights

Read = Callable[..., Tensor]


@predictions(
    put="your prediction", shows="the weights grow with the sentence; the number of parameters does not."
)
def check_sizes() -> Answers:
    """Judge the predicted shapes and counts, exercise ex-predict-sizes."""
    batch = "the axis of the sentences is missing"
    counts = {
        "biases are counted; there are none": 82_080,
        "the three matrices are taken to be square": 786_432,
    }
    return {
        "query": Answer((2, 7, 64), "There is one query for each word, as wide as the query matrix.",
            {batch: (7, 64), "queries are taken to be as wide as the model": (2, 7, 512)}),
        "weights": Answer((2, 7, 7), "Each word has a weight for each word of its own sentence.",
            {batch: (7, 7), "the sentences are read as one": (14, 14),
            "a weight for each feature is given": (2, 7, 64),
            "it is one row, that of a single word": (2, 7)}),
        "output": Answer((2, 7, 32), "The outputs are as wide as the values.", {batch: (7, 32),
            "outputs are taken to be as wide as the queries": (2, 7, 64),
            "outputs are taken to be as wide as the model": (2, 7, 512)}),
        "parameters": Answer(81_920, "There are three matrices, and no biases.", {**counts,
            "the value matrix is taken to be as wide as the others": 98_304}),
        "parameters for 14 words": Answer(81_920, "Do the matrices depend on the sentence?", {**counts,
            "parameters are taken to grow with the sentence": 163_840}),
    }  # fmt: skip


@judge
def check_self_attention(answer: Read) -> str:
    """Judge `answer(x, w_query, w_key, w_value)`, exercise ex-self-attention."""
    for batch, tokens in ((2, 5), (3, 1), (1, 9)):
        x = draw_normal(tokens, batch, tokens, 6)
        matrices = draw_normal(1, 6, 4), draw_normal(2, 6, 4), draw_normal(3, 6, 3)
        query, key, value = (x @ matrix for matrix in matrices)
        attend = F.scaled_dot_product_attention
        wanted, root = attend(query, key, value), x.size(-1) ** 0.5
        mistakes = mistaken_attention(query, key, value) | {
            "the keys are made with the matrix of the queries": attend(query, query, value),
            "the queries are made with the matrix of the keys": attend(key, key, value),
            "the scores are divided by the root of d_model instead of d_k": attend(
                query, key, value, scale=1 / root
            ),
            "the values are the words' own vectors": attend(query, key, x),
        }
        what = f"the output for {plural(batch, 'sentence')} of {plural(tokens, 'word')}"
        expect_close(answer(x, *matrices), wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "it agrees with PyTorch for one word, five and nine."


@judge
def check_two_sums(answer: Callable[[Tensor], Tensor]) -> str:
    """Judge `answer(x)`, plain self-attention, exercise ex-debug-sums."""
    for batch, tokens, width in ((2, 5, 3), (4, 3, 6), (1, 1, 2)):
        x = draw_normal(width, batch, tokens, width)
        wanted = F.scaled_dot_product_attention(x, x, x, scale=1.0)
        scores = x @ x.mT
        columns, divided = scores.softmax(dim=1), (scores / width**0.5).softmax(dim=-1) @ x
        mistakes = {
            "the weights that a word receives sum to 1, not those that it gives": columns @ x,
            "each word's own vector is summed, not those of the words that it reads": x,
            "neither bug is repaired": columns.sum(dim=-1, keepdim=True) * x,
            "the scores are divided by a root; plain self-attention does not divide": divided,
        }
        what = f"the output for {plural(batch, 'sentence')} of {plural(tokens, 'word')}"
        expect_close(answer(x), wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "each word now averages the vectors of all words, with weights that sum to 1."


@judge
def check_weight_ratio(answer: Callable[..., Any]) -> str:
    """Judge `answer(asking, first, second, w_query, w_key)`, exercise ex-derive-ratio, inside sentences."""
    for seed, tokens, d_k in ((0, 3, 4), (1, 8, 4), (2, 5, 9)):
        x, w_query, w_key = (
            draw_normal(seed, tokens, 6),
            draw_normal(seed + 10, 6, d_k),
            draw_normal(seed + 20, 6, d_k),
        )
        weights = attention_weights(x @ w_query, x @ w_key)
        right = (weights[2, 0] / weights[2, 1]).item()
        ratio = answer(x[2], x[0], x[1], w_query, w_key)
        first, second = ((x[2] @ w_query @ (other @ w_key)).item() for other in x[:2])
        d_model = x.size(-1)
        mistakes = {
            "this is the ratio of the scores, not that of the weights": first / second,
            "the scores are not divided by √d_k": math.exp(first - second),
            "the scores are divided by √d_model instead of √d_k": math.exp((first - second) / d_model**0.5),
            "`first` and `second` are swapped": 1 / right,
            "this is the logarithm of the ratio": (first - second) / d_k**0.5,
        }
        what = f"the ratio in a sentence of {plural(tokens, 'word')} with d_k={d_k}"
        expect_number(ratio, right, what=what, mistakes=mistakes)
    return "three vectors give the ratio, whatever else stands in the sentence."


@judge
def check_circle(answer: Callable[[], tuple[Tensor, Tensor]]) -> str:
    """Judge `answer()`, a query and a key matrix for rock, scissors, paper, exercise ex-circle."""
    matrices = answer()
    pair = isinstance(matrices, list | tuple) and len(matrices) == 2
    expect(pair, "return two matrices: first that of the queries, then that of the keys.")
    w_query, w_key = (torch.as_tensor(matrix, dtype=torch.float64) for matrix in matrices)
    for name, matrix in (("queries", w_query), ("keys", w_key)):
        rows = matrix.ndim == 2 and len(matrix) == 3
        expect(rows, f"the matrix of the {name} should have shape (3, d_k), not {tuple(matrix.shape)}.")
    weights = attention_weights(w_query, w_key)  # the vectors of the words are the rows of the identity
    names = ("rock", "scissors", "paper")
    same = equal(w_query, w_key)
    expect(
        not same,
        "with one matrix for both, the scores are symmetric: if rock reads scissors, scissors read rock.",
    )
    turned = (weights[torch.arange(3), torch.arange(3) - 1] > 0.9).all()
    expect(not turned, "the circle runs the wrong way: each word reads the one that it loses to.")
    for row, name in enumerate(names):
        beaten = (row + 1) % 3
        weight = weights[row, beaten].item()
        expect(
            weight > 0.9,
            f"the weight that {name} gives to {names[beaten]} should be more than 0.9, not {weight:.2f}.",
        )
    return "rock reads scissors, scissors read paper, and paper reads rock."


@judge
def check_pronouns(answer: Callable[[], tuple[SelfAttention, SelfAttention]]) -> str:
    """Judge `answer()`, two layers whose matrices were set by hand, exercise ex-two-layers."""
    sentences = pronoun_sentences()
    x = encode_pronouns(sentences)
    layers = expect_tuple(answer(), 2, what="the two layers")
    with torch.no_grad():
        for layer in layers:
            x = x + layer(x)
    answers = x[:, IT, : len(NOUNS)]
    for sentence, row in zip(sentences, answers, strict=True):
        best = row.argmax().item()
        ahead = row[best] - row.sort().values[-2]
        expect(
            ahead.item() > 0.1,
            f'in "{sentence}", the vector of "it" should name one noun clearly; its largest feature is only '
            f"{ahead.item():.2f} ahead. Are the values large enough?",
        )
        expect(
            best == sentence.answer,
            f'in "{sentence}", the vector of "it" says {NOUNS[int(best)]}, not {NOUNS[sentence.answer]}.',
        )
    return "layer 1 passes on the adjective, layer 2 chooses the noun, in all 60 sentences."
