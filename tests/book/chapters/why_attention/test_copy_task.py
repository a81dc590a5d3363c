"""The two models that copy a sentence match sums written as loops."""

import pytest
import torch

from annotated_transformer.book.chapters.why_attention.copy_task import AverageCopier, VectorCopier

BATCH, TOKENS, VOCAB, SIZE = 2, 5, 7, 3


def words():
    return torch.randint(VOCAB, (BATCH, TOKENS), generator=torch.Generator().manual_seed(1))


def made(kind):
    model = kind(VOCAB, TOKENS, SIZE, rng=torch.Generator().manual_seed(0)).double()
    for number, parameter in enumerate(model.parameters()):
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(number))
    return model.requires_grad_(False)


def test_oracle_one_vector_is_the_sum_of_the_codes():
    model = made(VectorCopier)
    for sentence, logits in zip(words().tolist(), model(words()), strict=True):
        vector = sum(model.codes[place, word] for place, word in enumerate(sentence)) / TOKENS**0.5
        wanted = torch.stack([vector @ matrix for matrix in model.to_words])
        torch.testing.assert_close(logits, wanted, rtol=1e-12, atol=1e-12)


def test_law_each_position_has_its_own_codes_and_logits_start_with_unit_variance():
    rng = torch.Generator().manual_seed(0)
    model = VectorCopier(29, TOKENS, 311, rng=rng)
    assert (model.codes[0] != model.codes[1]).all()
    logits = model(torch.randint(29, (101, TOKENS), generator=rng))
    assert logits.std().item() == pytest.approx(1, abs=0.05)


@pytest.mark.equation("eq-average")
def test_oracle_each_output_is_a_weighted_average_of_the_states():
    model = made(AverageCopier)
    for sentence, logits in zip(words().tolist(), model(words()), strict=True):
        for scores, found in zip(model.scores, logits, strict=True):
            parts = scores.exp() / scores.exp().sum()
            average = sum(part * model.codes[word] for part, word in zip(parts, sentence, strict=True))
            torch.testing.assert_close(found, average @ model.to_words, rtol=1e-12, atol=1e-12)


def test_law_weights_sum_to_one_and_are_equal_before_training():
    torch.testing.assert_close(made(AverageCopier).weights().sum(dim=-1), torch.ones(TOKENS).double())
    fresh = AverageCopier(VOCAB, TOKENS, SIZE, rng=torch.Generator().manual_seed(0))
    assert torch.equal(fresh.weights(), torch.full((TOKENS, TOKENS), 1 / TOKENS))


@pytest.mark.parametrize("kind", [VectorCopier, AverageCopier])
def test_law_the_generator_decides_the_weights(kind):
    one, two, other = (kind(VOCAB, TOKENS, SIZE, rng=torch.Generator().manual_seed(s)) for s in (0, 0, 1))
    assert torch.equal(one(words()), two(words()))
    assert not torch.equal(one(words()), other(words()))
