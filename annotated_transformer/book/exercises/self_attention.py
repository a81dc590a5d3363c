"""Checks of the exercises of the chapter on self-attention (sections 2 and 3.2.3 of the paper)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.verdict import expect, expect_close, judge
from annotated_transformer.model.attention import attention_weights
from annotated_transformer.model.self_attention import SelfAttention
from annotated_transformer.text.toy.pronouns import IT, NOUNS, encode_pronouns, pronoun_sentences

SIZES: dict[str, int | tuple[int, ...]] = {
    "query": (2, 7, 64),
    "weights": (2, 7, 7),
    "output": (2, 7, 32),
    "parameters": 81_920,
    "parameters for 14 words": 81_920,
}
Read = Callable[..., Tensor]


@judge
def check_sizes(answer: Mapping[str, Any]) -> str:
    """Judge the predicted shapes and counts, exercise ex-predict-sizes."""
    for name, right in SIZES.items():
        prediction = answer.get(name)
        expect(
            prediction is not None and prediction is not ...,
            f"{name} is still empty; put your prediction there.",
        )
        prediction = tuple(prediction) if isinstance(prediction, Sequence) else prediction
        expect(
            prediction == right,
            f"{name} is not {prediction}. Which sizes belong to the sentence, and which to the matrices?",
        )
    return "the weights grow with the sentence; the number of parameters does not."


@judge
def check_self_attention(answer: Read) -> str:
    """Judge `answer(x, w_query, w_key, w_value)`, exercise ex-self-attention."""
    for batch, tokens in ((2, 5), (3, 1), (1, 9)):
        x = draw_normal(tokens, batch, tokens, 6)
        matrices = draw_normal(1, 6, 4), draw_normal(2, 6, 4), draw_normal(3, 6, 3)
        query, key, value = (x @ matrix for matrix in matrices)
        wanted = F.scaled_dot_product_attention(query, key, value)
        what = f"the output for {batch} sentences of {tokens} words"
        expect_close(answer(x, *matrices), wanted, what=what, tolerance=1e-9)
    return "it agrees with PyTorch for one word, five and nine."


@judge
def check_two_sums(answer: Callable[[Tensor], Tensor]) -> str:
    """Judge `answer(x)`, plain self-attention, exercise ex-debug-sums."""
    for batch, tokens, width in ((2, 5, 3), (4, 3, 6), (1, 1, 2)):
        x = draw_normal(width, batch, tokens, width)
        wanted = F.scaled_dot_product_attention(x, x, x, scale=1.0)
        what = f"the output for {batch} sentences of {tokens} words"
        expect_close(answer(x), wanted, what=what, tolerance=1e-9)
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
        ratio = float(answer(x[2], x[0], x[1], w_query, w_key))
        expect(
            abs(ratio - right) <= 1e-9 * right,
            f"in a sentence of {tokens} words with d_k={d_k}, the ratio is {right:.4g}, not {ratio:.4g}.",
        )
    return "three vectors give the ratio, whatever else stands in the sentence."


@judge
def check_circle(answer: Callable[[], tuple[Tensor, Tensor]]) -> str:
    """Judge `answer()`, a query and a key matrix for rock, scissors, paper, exercise ex-circle."""
    w_query, w_key = (torch.as_tensor(matrix, dtype=torch.float64) for matrix in answer())
    weights = attention_weights(w_query, w_key)  # the vectors of the words are the rows of the identity
    names = ("rock", "scissors", "paper")
    expect(tuple(weights.shape) == (3, 3), f"the weights are {tuple(weights.shape)}, not (3, 3).")
    for row, name in enumerate(names):
        beaten = (row + 1) % 3
        weight = weights[row, beaten].item()
        expect(
            weight > 0.9,
            f"{name} gives {names[beaten]} a weight of {weight:.2f}; it should be more than 0.9.",
        )
    return "rock reads scissors, scissors read paper, and paper reads rock."


@judge
def check_pronouns(answer: Callable[[], tuple[SelfAttention, SelfAttention]]) -> str:
    """Judge `answer()`, two layers whose matrices were set by hand, exercise ex-two-layers."""
    sentences = pronoun_sentences()
    x = encode_pronouns(sentences)
    layers = answer()
    expect(len(layers) == 2, f"return two layers, not {len(layers)}.")
    with torch.no_grad():
        for layer in layers:
            x = x + layer(x)
    answers = x[:, IT, : len(NOUNS)]
    for sentence, row in zip(sentences, answers, strict=True):
        best = row.argmax().item()
        ahead = row[best] - row.sort().values[-2]
        expect(ahead.item() > 0.1, f'in "{sentence}", no noun is clearly ahead in the vector of "it".')
        expect(
            best == sentence.answer,
            f'in "{sentence}", the vector of "it" says {NOUNS[int(best)]}, not {NOUNS[sentence.answer]}.',
        )
    return "layer 1 passes on the adjective, layer 2 chooses the noun, in all 60 sentences."
