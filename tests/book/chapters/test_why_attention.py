"""Distances, gradients, and the two models that copy match the chain rule and sums written as loops."""

import pytest
import torch
from torch import nn

from annotated_transformer.book.chapters.why_attention.copy_task import AverageCopier, VectorCopier
from annotated_transformer.book.chapters.why_attention.distance import gradient_by_distance

BATCH, TOKENS, VOCAB, SIZE, D_MODEL, WIDTH = 2, 5, 7, 3, 3, 7


def words():
    return torch.randint(VOCAB, (BATCH, TOKENS), generator=torch.Generator().manual_seed(1))


def test_oracle_one_vector_is_the_sum_of_the_codes(randomized):
    model = randomized(VectorCopier(VOCAB, TOKENS, SIZE, rng=torch.Generator()))
    for sentence, logits in zip(words().tolist(), model(words()), strict=True):
        vector = sum(model.codes[place, word] for place, word in enumerate(sentence)) / TOKENS**0.5
        wanted = torch.stack([vector @ matrix for matrix in model.to_words])
        torch.testing.assert_close(logits, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.equation("eq-average")
def test_oracle_each_output_is_a_weighted_average_of_the_states(randomized):
    model = randomized(AverageCopier(VOCAB, TOKENS, SIZE, rng=torch.Generator()))
    for sentence, logits in zip(words().tolist(), model(words()), strict=True):
        for scores, found in zip(model.scores, logits, strict=True):
            parts = scores.exp() / scores.exp().sum()
            average = sum(part * model.codes[word] for part, word in zip(parts, sentence, strict=True))
            torch.testing.assert_close(found, average @ model.to_words, rtol=1e-12, atol=1e-12)


def rng():
    return torch.Generator().manual_seed(3)


def test_oracle_the_gradient_of_a_linear_map_is_the_norm_of_its_row(draw):
    matrices = draw(TOKENS, D_MODEL, WIDTH)
    x = draw(BATCH, TOKENS, D_MODEL).requires_grad_()
    found = gradient_by_distance(torch.einsum("btd,tdw->bw", x, matrices), x, rng=rng())
    direction = torch.randn(BATCH, WIDTH, generator=rng(), dtype=torch.float64)
    sizes = [(direction @ matrix.T).norm() / BATCH**0.5 for matrix in matrices]
    torch.testing.assert_close(found, torch.stack(sizes[::-1]), rtol=1e-12, atol=1e-12)
    assert found.min() > 0
    assert found[0] != found[-1]


@pytest.mark.equation("eq-chain")
@pytest.mark.equation("eq-rnn")
def test_oracle_the_gradient_of_a_recurrent_network_is_a_product_over_its_steps(draw):
    rnn = nn.RNN(D_MODEL, WIDTH, batch_first=True).double().requires_grad_(False)
    x = draw(1, TOKENS, D_MODEL)
    bias = rnn.bias_ih_l0 + rnn.bias_hh_l0
    state = torch.zeros(WIDTH, dtype=torch.float64)
    states = []
    for word in x[0]:
        state = (rnn.weight_ih_l0 @ word + rnn.weight_hh_l0 @ state + bias).tanh()
        states.append(state)
    torch.testing.assert_close(torch.stack(states), rnn(x)[0][0], rtol=1e-12, atol=1e-12)
    product = torch.eye(WIDTH, dtype=torch.float64)
    for state in states[:0:-1]:
        product = product @ (torch.diag(1 - state.square()) @ rnn.weight_hh_l0)
    last = lambda first: rnn(x[:, 1:], first[None, None])[0][0, -1]  # noqa: E731
    jacobian = torch.autograd.functional.jacobian(last, states[0])
    torch.testing.assert_close(product, jacobian, rtol=1e-12, atol=1e-12)
    assert product.abs().max() > 0
