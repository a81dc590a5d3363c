"""The ladder of stacks leads from the paper's parts to today's, at equal size; the equations of the parts."""

import math

import pytest
import torch

from annotated_transformer.book.chapters.from_here_to_modern_models.stacks import (
    KV_HEADS,
    LADDER,
    Texts,
    WindowParts,
    build_stack,
    count_parameters,
    fit_translation,
    share_translated,
    texts_of,
)
from annotated_transformer.config import TransformerConfig
from annotated_transformer.modern.grouped_query_attention import GroupedQueryAttention, cached_numbers
from annotated_transformer.modern.mixture_of_experts import MixtureOfExperts, Router
from annotated_transformer.modern.modern_parts import ModernParts
from annotated_transformer.modern.rms_norm import RMSNorm
from annotated_transformer.modern.rotary import RotaryPositions
from annotated_transformer.modern.single_stack import DecoderOnly
from annotated_transformer.modern.swiglu import SwiGLU
from annotated_transformer.text.toy.grammar import ToyPair
from annotated_transformer.text.toy.pairs import WordVocabulary

VOCAB = 29
TOKENS, D_MODEL, D_FF, EXPERTS = 5, 12, 7, 3
PAIRS = [ToyPair("a dog", "ein Hund", frozenset()), ToyPair("she sees a dog", "sie sieht", frozenset())]


def test_oracle_the_last_step_has_todays_parts():
    torch.manual_seed(0)
    last = build_stack(list(LADDER)[-1], VOCAB, d_model=16)
    today = DecoderOnly(last.config, ModernParts(last.config, num_kv_heads=KV_HEADS))
    today.load_state_dict(last.state_dict())
    ids = torch.randint(3, VOCAB, (2, 7), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(today(ids), last(ids))


def test_law_each_step_changes_the_model():
    described = [repr(build_stack(name, VOCAB, d_model=16)) for name in LADDER]
    assert len(set(described)) == len(LADDER)
    biases = [
        any(n.endswith("bias") for n, _ in build_stack(name, VOCAB, d_model=16).named_parameters())
        for name in LADDER
    ]
    assert biases == [True, True, True, False, False, False, False]


def test_law_all_stacks_are_of_one_size_and_draws_do_not_depend_on_the_search_for_it():
    weights = count_parameters(build_stack("2017", VOCAB, d_model=32))
    for name in LADDER:
        torch.manual_seed(3)
        found = build_stack(name, VOCAB, weights=weights, d_model=32)
        assert count_parameters(found) == pytest.approx(weights, rel=0.01)
        torch.manual_seed(3)
        config = found.config
        again = DecoderOnly(config, LADDER[name](config))
        assert torch.equal(again.embedding.weight, found.embedding.weight)


def test_law_texts_are_source_and_target_and_the_target_counts():
    vocabulary = WordVocabulary(text for pair in PAIRS for text in (pair.source, pair.target))
    texts = texts_of(PAIRS, vocabulary)
    for pair, ids, counted in zip(PAIRS, texts.ids, texts.counted, strict=True):
        words = vocabulary.decode(ids[~counted].tolist()), vocabulary.decode(ids[counted].tolist())
        assert words == (pair.source, pair.target)
        assert ids[counted].tolist()[-1] == 2
        assert ids[0] == 1
    assert texts.batch(torch.tensor([1])).ids.tolist() == texts.ids[1:].tolist()


def test_law_a_model_learns_two_texts_by_heart():
    vocabulary = WordVocabulary(text for pair in PAIRS for text in (pair.source, pair.target))
    texts = texts_of(PAIRS, vocabulary)
    torch.manual_seed(0)
    model = build_stack("pre-norm", vocabulary.vocab_size, d_model=16, num_layers=1)
    assert share_translated(model, texts) < 1
    losses = fit_translation(model, texts, updates=60, max_lr=0.02, seed=0, batch=2)
    assert losses[-1] < 0.2 * losses[0]
    assert share_translated(model, texts) == 1
    wrong = Texts(texts.ids.clone(), texts.counted)
    wrong.ids[0, 4] = texts.ids[0, 5]
    assert share_translated(model, wrong) == 0.5


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(TOKENS, D_MODEL, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.equation("eq-rms-norm")
def test_oracle_rms_norm_divides_by_the_root_of_the_mean_square(x: torch.Tensor):
    norm = RMSNorm(D_MODEL, eps=0.25).double()
    norm.gain.data = torch.linspace(1, 2, D_MODEL, dtype=torch.float64)
    for row, found in zip(x.tolist(), norm(x).tolist(), strict=True):
        root = math.sqrt(sum(value**2 for value in row) / D_MODEL + 0.25)
        wanted = [gain * value / root for gain, value in zip(norm.gain.tolist(), row, strict=True)]
        assert found == pytest.approx(wanted, abs=1e-12)


@pytest.mark.equation("eq-rotary")
def test_oracle_scores_of_rotated_vectors_are_those_of_one_rotation_by_the_distance(x: torch.Tensor):
    turn, query, key = RotaryPositions(D_MODEL), x[:1], x[1:2]
    for place, other in ((3, 10), (7, 2)):
        found = turn(query, place)[0] @ turn(key, other)[0]
        by_hand = 0.0
        for pair in range(0, D_MODEL, 2):
            angle = (other - place) / 10_000 ** (pair / D_MODEL)
            (a, b), (c, d) = query[0, pair : pair + 2].tolist(), key[0, pair : pair + 2].tolist()
            by_hand += a * (c * math.cos(angle) - d * math.sin(angle))
            by_hand += b * (c * math.sin(angle) + d * math.cos(angle))
        assert found.item() == pytest.approx(by_hand, abs=1e-9)
        assert abs(found.item() - (query[0] @ key[0]).item()) > 1e-3  # the rotation does something


@pytest.mark.equation("eq-swiglu")
def test_oracle_swiglu_multiplies_a_gate_by_a_linear_map(x: torch.Tensor):
    network = SwiGLU(D_MODEL, D_FF).double()
    gate = x @ network.gate.weight.T
    hidden = gate / (1 + torch.exp(-gate)) * (x @ network.expand.weight.T)
    torch.testing.assert_close(network(x), hidden @ network.contract.weight.T, rtol=1e-12, atol=1e-12)


@pytest.mark.equation("eq-grouped-cache")
def test_oracle_a_cache_holds_keys_and_values_of_each_group():
    attention = GroupedQueryAttention(D_MODEL, 6, 3)
    keys, values = attention.project_memory(torch.randn(1, TOKENS, D_MODEL), torch.randn(1, TOKENS, D_MODEL))
    held = keys.numel() + values.numel()
    assert held == 2 * 1 * 3 * (D_MODEL // 6) * TOKENS == cached_numbers(attention, TOKENS)


@pytest.mark.equation("eq-experts")
def test_oracle_the_chosen_experts_are_averaged_by_their_probabilities(x: torch.Tensor):
    experts = [SwiGLU(D_MODEL, D_FF) for _ in range(EXPERTS)]
    mixture = MixtureOfExperts(Router(D_MODEL, EXPERTS, 2), experts).double()
    shares = (x @ mixture.router.to_logits.weight.T).softmax(dim=-1)
    for row, token in enumerate(x):
        best = sorted(range(EXPERTS), key=lambda e: -shares[row, e].item())[:2]
        total = sum(shares[row, e] for e in best)
        wanted = sum(shares[row, e] / total * mixture.experts[e](token) for e in best)
        torch.testing.assert_close(mixture(x)[row], wanted, rtol=1e-9, atol=1e-9)


def test_law_a_stack_with_windows_reads_one_window_less_one_for_each_layer():
    config = TransformerConfig(
        vocab_size=11, max_length=17, num_layers=2, d_model=6, d_ff=7, num_heads=3, dropout=0.0
    )
    model = DecoderOnly(config, WindowParts(config, 4)).double()
    x = model.embed(torch.arange(3, 11)[None]).detach().requires_grad_()
    model.encoder(x, model.mask(torch.arange(3, 11)[None]))[0, -1].square().sum().backward()
    assert x.grad is not None
    assert (x.grad[0].abs().amax(dim=-1) > 0).tolist() == [False] + [True] * 7
