"""The ladder of stacks leads from the paper's parts to today's, at equal size."""

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
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.modern.modern_parts import ModernParts
from annotated_transformer.text.toy.grammar import ToyPair
from annotated_transformer.text.toy.pairs import WordVocabulary

VOCAB = 29
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


def test_law_a_stack_with_windows_reads_one_window_less_one_for_each_layer():
    config = TransformerConfig(
        vocab_size=11, max_length=17, num_layers=2, d_model=6, d_ff=7, num_heads=3, dropout=0.0
    )
    model = DecoderOnly(config, WindowParts(config, 4)).double()
    x = model.embed(torch.arange(3, 11)[None]).detach().requires_grad_()
    model.encoder(x, model.mask(torch.arange(3, 11)[None]))[0, -1].square().sum().backward()
    assert x.grad is not None
    assert (x.grad[0].abs().amax(dim=-1) > 0).tolist() == [False] + [True] * 7
