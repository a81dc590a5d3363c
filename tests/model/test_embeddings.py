"""The shared matrix: rows as embeddings, dot products as scores, at the scale of the positions."""

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.model.embeddings import TokenEmbedding

BATCH, TOKENS, D_MODEL, VOCAB = 2, 5, 7, 23
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture
def ids():
    return torch.randint(VOCAB, (BATCH, TOKENS), generator=torch.Generator().manual_seed(0))


@pytest.mark.equation("eq-embedding")
def test_oracle_a_lookup_is_the_product_with_one_hot_rows(ids, randomized):
    embedding = randomized(TokenEmbedding(VOCAB, D_MODEL))
    one_hot = torch.zeros(BATCH, TOKENS, VOCAB).double().scatter_(-1, ids[..., None], 1)
    torch.testing.assert_close(embedding(ids), D_MODEL**0.5 * one_hot @ embedding.weight, **EXACT)


@pytest.mark.equation("eq-shared-gradient")
def test_oracle_the_gradient_is_the_sum_of_a_sparse_and_a_dense_part(ids, draw, randomized):
    embedding, labels = randomized(TokenEmbedding(VOCAB, D_MODEL)), ids.roll(1)
    mix = draw(TOKENS, TOKENS)  # stands in for the layers in between
    x = embedding(ids)
    hidden = mix @ x
    logits = embedding.logits(hidden)
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
    by_loss, g = torch.autograd.grad(loss, (embedding.weight, x))
    eye = torch.eye(VOCAB).double()
    sparse = D_MODEL**0.5 * torch.einsum("btv,btd->vd", eye[ids], g)
    dense = torch.einsum("btv,btd->vd", logits.softmax(dim=-1) - eye[labels], hidden)
    torch.testing.assert_close(by_loss, sparse + dense, **EXACT)
    assert min(sparse.norm(), dense.norm()) > 0.1
    assert torch.equal((sparse != 0).any(dim=1), torch.isin(torch.arange(VOCAB), ids))


@pytest.mark.equation("eq-shared-logits")
def test_law_the_score_of_a_token_is_its_dot_product_with_the_hidden_vector(draw, randomized):
    embedding, hidden = randomized(TokenEmbedding(VOCAB, D_MODEL)), draw(BATCH, TOKENS, D_MODEL)
    scores = embedding.logits(hidden)
    assert scores.shape == (BATCH, TOKENS, VOCAB)
    by_hand = sum(a * b for a, b in zip(hidden[1, 2].tolist(), embedding.weight[19].tolist(), strict=True))
    assert scores[1, 2, 19].item() == pytest.approx(by_hand, abs=1e-12)


def test_law_embedded_tokens_have_unit_variance():
    for d_model in (16, 128):
        embedded = TokenEmbedding(2_000, d_model)(torch.arange(2_000)[None])
        assert embedded.square().mean().sqrt().item() == pytest.approx(1, abs=0.03)


def test_law_int32_ids_and_empty_sequences_are_accepted(ids):
    embedding = TokenEmbedding(VOCAB, D_MODEL)
    assert torch.equal(embedding(ids.int()), embedding(ids))
    assert embedding(ids[:, :0]).shape == (BATCH, 0, D_MODEL)
    assert embedding(torch.tensor([[0, VOCAB - 1]])).isfinite().all()


@pytest.mark.message
@pytest.mark.parametrize("wrong", [-1, VOCAB])
def test_message_ids_outside_the_vocabulary(wrong):
    low, high = min(wrong, 4), max(wrong, 4)
    sentence = rf"token ids {low} to {high} do not fit a vocabulary of 23, 0 to 22; encode the text with this"
    with pytest.raises(ValueError, match=sentence):
        TokenEmbedding(VOCAB, D_MODEL)(torch.tensor([[4, wrong]]))


@pytest.mark.message
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int16])
def test_message_ids_that_are_not_integers(dtype):
    with pytest.raises(TypeError, match=rf"token ids have dtype {dtype}; give torch.int64"):
        TokenEmbedding(VOCAB, D_MODEL)(torch.ones(BATCH, TOKENS, dtype=dtype))
