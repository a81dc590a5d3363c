"""Checks of the exercises of the chapter on why attention is needed."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.verdict import expect_close, judge, plural

Function = Callable[..., Any]


@predictions(
    put="a number",
    shows="a chain multiplies the gradient by the same weight at each step, an average does not.",
)
def check_gradient_predictions() -> Answers:
    """Judge the predicted gradients of a memory of one number, exercise ex-predict-gradient."""
    chain, added = (
        "Each step multiplies the gradient by the weight",
        "the ten weights are added, not multiplied",
    )
    fewer, more = "one step is missing; there are ten", "there is one step too many"
    return {  # 0.001 and 1000 are right, too
        "weight 0.5, 10 words back": Answer(0.5**10, f"{chain}.", {added: 5.0, fewer: 0.5**9, more: 0.5**11},
            tolerance=5e-5),
        "weight 1, 10 words back": Answer(1.0, "Multiplying by 1 changes nothing, however often.",
            {added: 10.0, "the gradient is shared by the ten words, as in an average": 0.1}, tolerance=0.05),
        "weight 2, 10 words back": Answer(2.0**10, f"{chain}, and this one is above 1.", {added: 20.0,
            fewer: 2.0**9, more: 2.0**11}, tolerance=0.05),
        "average of 10 words, each": Answer(0.1, "The distance does not occur in the formula of an average.",
            {"the gradients of all ten words are added": 1.0,
            "the weight is multiplied ten times, as in a chain": 0.1**10}, tolerance=5e-3),
    }  # fmt: skip


@judge
def check_rnn(answer: Function) -> str:
    """Judge `answer(x, w, u, b)`, which returns the states of a recurrent network, exercise ex-rnn."""
    for tokens in (1, 2, 7):
        reference = nn.RNN(3, 5, batch_first=True).double().requires_grad_(False)
        w, u, b = draw_normal(1, 5, 3), draw_normal(2, 5, 5), draw_normal(3, 5)
        reference.load_state_dict(
            {"weight_ih_l0": w, "weight_hh_l0": u, "bias_ih_l0": b, "bias_hh_l0": torch.zeros_like(b)}
        )
        x = draw_normal(4, 2, tokens, 3)
        states, wanted = answer(x, w, u, b), reference(x)[0]
        mistakes = {
            "only the last state is returned": wanted[:, -1],
            "each word begins with a state of zeros": (x @ w.T + b).tanh(),
            "the tokens are on the first axis; they belong on the second": wanted.transpose(0, 1),
        }
        reference.load_state_dict(reference.state_dict() | {"weight_hh_l0": u.T})
        mistakes["u is transposed"] = reference(x)[0]
        what = f"the tensor of states for {plural(tokens, 'word')}"
        expect_close(states, wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "it agrees with nn.RNN for sentences of 1, 2 and 7 words."


@judge
def check_average(answer: Function) -> str:
    """Judge `answer(states, scores)`, a weighted average for each output, exercise ex-average."""
    for outputs, tokens in ((3, 5), (1, 4), (4, 1)):
        states, scores = draw_normal(1, tokens, 7), draw_normal(2, outputs, tokens)
        rows = []
        for line in scores.tolist():
            raised = [math.exp(score) for score in line]
            parts = [r / sum(raised) * state for r, state in zip(raised, states, strict=True)]
            rows.append(torch.stack(parts).sum(dim=0))
        mistakes = {
            "the weights of each state sum to 1, not those of each output": scores.softmax(dim=0) @ states,
            "the scores are used as weights, without exponentials": scores @ states,
            "the exponentials are not divided by their sum": scores.exp() @ states,
        }
        what = f"the average for {plural(outputs, 'output')} of {plural(tokens, 'state')}"
        expect_close(answer(states, scores), torch.stack(rows), what=what, tolerance=1e-9, mistakes=mistakes)
    return "each output is a weighted average of all states, and the weights sum to 1."


@judge
def check_last_state(answer: Function) -> str:
    """Judge `answer(rnn, x)`, which returns the state after the last word, exercise ex-debug-state."""
    for tokens in (2, 5):
        rnn = nn.LSTM(3, 4, batch_first=True).double().requires_grad_(False)
        for seed, parameter in enumerate(rnn.parameters()):
            parameter.copy_(draw_normal(seed, *parameter.shape))
        x = draw_normal(9, 6, tokens, 3)
        output, (_, cell) = rnn(x)
        mistakes = {
            "these are the states of one sentence": output[-1],
            "these are the states after the first word": output[:, 0],
            "these are the states of the cell, not the outputs": cell[0],
            "all states are returned": output,
        }
        what = f"the last state of 6 sentences with {tokens} words"
        expect_close(answer(rnn, x), output[:, -1], what=what, tolerance=1e-9, mistakes=mistakes)
    return "one state for each sentence, that after its last word."


@formula((10,), (1,), (2,), (60,), shows="the weight approaches 1 as the distance grows.")
def check_half_life(distance: int) -> Answer:
    """Judge `answer(distance)`, the weight that halves a gradient, exercise ex-derive-weight."""
    mistakes = {
        "the losses of the steps are added; each step multiplies what is left": 1 - 0.5 / distance,
        "1/e of the gradient is left instead of one half": math.exp(-1 / distance),
        "the distance is not used": 0.5,
    }
    return Answer(
        0.5 ** (1 / distance), "This weight, to the power of the distance, is not one half.", mistakes, 1e-6
    )


@formula(
    *((10, 1, 53), (2, 1, 8), (8, 4, 16), (37_000, 512, 32), (3, 1, 1), (32, 5, 53), (2**50 + 1, 1000, 64)),
    shows="no code can do better: with one more word, there are more sentences than states.",
)
def check_capacity(vocab: int, numbers: int, bits: int) -> Answer:
    """Judge `answer(vocab, numbers, bits)`, the longest sentence in a state, exercise ex-capacity.

    In the last two cases, a rounded logarithm is off by one, up or down.
    """
    length, sentences = 0, vocab
    while sentences <= 2 ** (numbers * bits):
        length, sentences = length + 1, sentences * vocab
    mistakes = {
        "logarithms are compared, which are rounded; compare integers": int(
            numbers * bits * math.log(2) / math.log(vocab)
        ),
        "the length is rounded up; for one more word there are too few states": length + 1,
        "the vocabulary is not used": numbers * bits,
    }
    return Answer(length, "How many states are there, and how many sentences of n words?", mistakes)
