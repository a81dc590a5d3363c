"""Sequences that repeat, and the models and maps of the chapter on looking inside."""

import pytest
import torch

from annotated_transformer.book.chapters.looking_inside import induction
from annotated_transformer.book.chapters.looking_inside.induction import (
    SYMBOLS,
    TOKENS,
    AttentionOnly,
    continuation_loss,
    diagonal_weight,
    fit_repetitions,
    induction_maps,
    repetitions,
)
from annotated_transformer.inspection.observation import watching


def test_law_sequences_repeat_after_their_period_and_not_before():
    drawn = repetitions(53, [3, 5, 7], torch.Generator().manual_seed(0), tokens=17)
    assert drawn.ids.shape == (53, 17)
    assert set(drawn.period.flatten().tolist()) == {3, 5, 7}
    for ids, (period,), seen in zip(
        drawn.ids.tolist(), drawn.period.tolist(), drawn.predictable.tolist(), strict=True
    ):
        assert ids[period:] == ids[:-period]
        assert len(set(ids[:period])) == period
        assert seen == [place >= period for place in range(1, 17)]
    assert len(drawn.ids[:, 0].unique()) > len(SYMBOLS) / 2


def test_law_a_model_does_not_see_the_future_and_knows_positions():
    model = AttentionOnly(num_layers=2, num_heads=2).requires_grad_(False)
    ids = torch.arange(TOKENS)[None] % 5
    changed = ids.clone()
    changed[0, 9] = 11
    before, after = model(ids), model(changed)
    assert torch.equal(before[:, :9], after[:, :9])
    assert (before[:, 9:] != after[:, 9:]).any()
    assert (model(torch.zeros(1, 4, dtype=torch.long))[0, 1:] - before[0, :1]).abs().max() > 1e-6


def test_oracle_a_layer_reads_the_normed_stream_and_adds_to_it():
    model = AttentionOnly(num_layers=2, num_heads=2).requires_grad_(False)
    ids = torch.arange(TOKENS)[None] % 7
    x, mask = model.positions(model.embedding(ids)), torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
    for attention in model.attentions:
        y = torch.nn.functional.layer_norm(x, x.shape[-1:])
        x = x + attention(y, y, y, mask)
    wanted = model.to_logits(torch.nn.functional.layer_norm(x, x.shape[-1:]))
    torch.testing.assert_close(model(ids), wanted, rtol=0, atol=1e-4)


def test_law_a_seed_draws_the_weights_and_the_sequences(monkeypatch: pytest.MonkeyPatch):
    drawn = []

    def look(model, draw_loss, **_):
        drawn.append((model.embedding.weight[0].tolist(), draw_loss().tolist()))

    monkeypatch.setattr(induction, "fit", look)
    monkeypatch.setattr(induction, "continuation_loss", lambda model, found: found.ids)
    for seed in (3, 4, 3):
        fit_repetitions([3, 5], num_layers=1, seed=seed)
    first, other, again = drawn
    assert first == again
    assert first[0] != other[0]
    assert first[1] != other[1]


def test_law_the_maps_are_those_of_each_layer():
    model = AttentionOnly(num_layers=2, num_heads=3, d_model=12).requires_grad_(False)
    drawn = repetitions(5, [4], torch.Generator().manual_seed(0))
    first, second = induction_maps(model, drawn.ids)
    assert first.shape == second.shape == (5, 3, TOKENS - 1, TOKENS - 1)
    assert first.triu(1).abs().max() == 0
    with watching([model.attentions[1].attention]) as seen:
        model(drawn.ids[:, :-1])
    assert torch.equal(second, seen[0])
    assert not torch.equal(first, second)


def test_oracle_the_weight_on_a_diagonal_is_a_sum_over_cells():
    weights = torch.rand(2, 3, 5, 5, generator=torch.Generator().manual_seed(0))
    offset = torch.tensor([[1], [3]])
    wanted = []
    for head in range(3):
        cells = [
            weights[row, head, query, query - back].item()
            for row, back in ((0, 1), (1, 3))
            for query in range(back, 5)
        ]
        wanted.append(sum(cells) / len(cells))
    assert diagonal_weight(weights, offset).tolist() == pytest.approx(wanted, abs=1e-6)


def test_oracle_the_loss_counts_predictable_symbols_only():
    model = AttentionOnly(num_layers=1).requires_grad_(False)
    drawn = repetitions(7, [3, 6], torch.Generator().manual_seed(0))
    log_probs = model(drawn.ids[:, :-1]).log_softmax(dim=-1)
    losses = [
        -log_probs[row, place - 1, drawn.ids[row, place]].item()
        for row in range(7)
        for place in range(int(drawn.period[row]), TOKENS)
    ]
    assert continuation_loss(model, drawn).item() == pytest.approx(sum(losses) / len(losses), abs=1e-6)


def test_law_training_learns_to_count_to_a_fixed_period():
    short, longer = (fit_repetitions([3], num_layers=1, seed=0, updates=n) for n in (1, 100))
    test = repetitions(100, [3], torch.Generator().manual_seed(5))
    assert continuation_loss(longer, test) < 0.5 * continuation_loss(short, test)
    assert not any(parameter.requires_grad for parameter in longer.parameters())
