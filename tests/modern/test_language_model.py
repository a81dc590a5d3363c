"""The language model: its loss by hand, its cache, and generation."""

import math

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.parts import PaperParts
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.modern.alibi import ALiBi
from annotated_transformer.modern.biased_attention import BiasedAttention
from annotated_transformer.modern.cache import DecoderOnlyCache
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.modern.language_model import continue_text, next_token_loss
from annotated_transformer.modern.modern_parts import ModernParts
from annotated_transformer.modern.sliding_window import SlidingWindowAttention

CONFIG = TransformerConfig(
    vocab_size=13, max_length=23, num_layers=2, d_model=12, d_ff=10, num_heads=6, dropout=0.1
)
EXACT = {"rtol": 1e-10, "atol": 1e-10}


class GroupedParts(ModernParts):
    def __init__(self, config):
        super().__init__(config, num_kv_heads=3)


class ALiBiParts(PaperParts):
    def attention(self, place="encoder"):
        attention = super().attention()
        attention.attention = BiasedAttention(ALiBi(6))
        return attention


class WindowParts(GroupedParts):
    def attention(self, place="encoder"):
        attention = super().attention()
        attention.attention = SlidingWindowAttention(3, attention.attention)
        return attention


class Average(torch.nn.Module):
    """An attention that has no heads, and does not say that it can be cached."""

    def forward(self, query, key, value, mask=None):
        return value.cumsum(dim=-2)


def new(parts=GroupedParts):
    torch.manual_seed(0)
    return DecoderOnly(CONFIG, parts(CONFIG)).double()


def some_ids(rows=2, tokens=11):
    drawn = torch.randint(3, 13, (rows, tokens - 1), generator=torch.Generator().manual_seed(0))
    return F.pad(drawn, (1, 0), value=CONFIG.bos_id)


def test_oracle_the_loss_by_hand():
    model, ids = new().eval(), some_ids()
    ids[1, 8:] = 0
    log_probs = model(ids).log_softmax(dim=-1)
    places = [(row, i) for row in range(2) for i in range(1, 11) if ids[row, i] != 0]
    losses = [-log_probs[row, i - 1, ids[row, i]] for row, i in places]
    torch.testing.assert_close(next_token_loss(model, ids), torch.stack(losses).mean(), **EXACT)
    counted = torch.arange(11) >= 6
    some = [loss for loss, (_, i) in zip(losses, places, strict=True) if i >= 6]
    loss = next_token_loss(model, ids, counted.expand(2, -1))
    torch.testing.assert_close(loss, torch.stack(some).mean(), **EXACT)


@pytest.mark.parametrize("parts", [PaperParts, GroupedParts, ALiBiParts, WindowParts])
def test_law_the_cache_gives_the_logits_of_the_whole_text_whatever_the_parts(parts):
    model, ids = new(parts), some_ids()
    ids[1, 2:4] = CONFIG.pad_id
    with evaluating(model):
        whole, texts = model(ids), DecoderOnlyCache(model, 2)
        torch.testing.assert_close(texts.read(ids[:, :4]), whole[:, 3], **EXACT)
        torch.testing.assert_close(texts.step(ids[:, 4]), whole[:, 4], **EXACT)
        torch.testing.assert_close(texts.read(ids[:, 5:8]), whole[:, 7], **EXACT)
        texts.select(torch.tensor([1, 1, 0]))
        torch.testing.assert_close(texts.step(ids[[1, 1, 0], 8]), whole[[1, 1, 0], 8], **EXACT)


@pytest.mark.message
def test_message_a_text_that_the_cache_cannot_continue():
    model, prompts = new().eval(), some_ids(tokens=3)
    model.encoder.layers[1].self_attention.attention = Average()
    average = r"encoder.layers.1.self_attention.attention is a Average, which DecoderOnlyCache would call wi"
    with pytest.raises(NotPlain, match=f"^{average}"):
        DecoderOnlyCache(model, 2)
    model.encoder.layers[0].register_forward_hook(lambda *_: None)
    with pytest.raises(NotPlain, match=r"^encoder.layers.0 has hooks, .*; remove them, or decode with Dec"):
        DecoderOnlyCache(model, 2)
    model.register_forward_hook(lambda *_: None)
    with pytest.raises(NotPlain, match=r"^DecoderOnly has hooks, which DecoderOnlyCache would not call; r"):
        DecoderOnlyCache(model, 2)
    with pytest.warns(UserWarning, match="^decoding without a cache, which is slower: DecoderOnly has hooks"):
        texts = continue_text(model, prompts, extra_tokens=1)
    assert torch.equal(texts[:, 3], model(prompts)[:, -1].index_fill(1, torch.tensor([0, 1]), -1e9).argmax(1))


def test_law_greedy_generation_appends_the_most_likely_token_of_the_whole_text(randomized):
    model, prompt = randomized(new()), some_ids(rows=7, tokens=4)
    continued = continue_text(model.train(), prompt, extra_tokens=5)
    assert model.training
    ids = prompt
    with evaluating(model):
        for _ in range(5):
            logits = model(ids)[:, -1]
            logits[:, [0, 1]] = -math.inf  # neither PAD nor BOS is generated
            ids = torch.cat([ids, logits.argmax(dim=-1)[:, None]], dim=1)
    assert (ids != 2).all(), "no row ends, or the loop above would not"
    assert torch.equal(continued, ids)


def test_law_a_text_ends_with_eos_and_is_padded(monkeypatch):
    model, prompt = new(), some_ids(tokens=3)
    queued = iter([[5, 2], [6], [2]])  # a text that has ended is not read again

    def step(self, tokens):
        logits = F.one_hot(torch.tensor(next(queued)), 13).double()
        logits[:, :2] = 5.0  # of PAD and BOS, which are not generated
        return logits

    monkeypatch.setattr("annotated_transformer.modern.cache.refuse_other_steps", lambda model: None)
    monkeypatch.setattr(DecoderOnlyCache, "step", step)
    continued = continue_text(model, prompt, extra_tokens=9)
    assert continued[:, 3:].tolist() == [[5, 6, 2], [2, 0, 0]]


@pytest.mark.message
@pytest.mark.parametrize("prompt", [torch.zeros(2, 0, dtype=torch.int64), torch.tensor([[1, 5], [1, 0]])])
def test_message_prompts_that_cannot_go_together(prompt):
    sentence = r"^a prompt of \(2, \d\) is empty or has padding \(pad_id=0\); give .* with bos_id=1 at least$"
    with pytest.raises(ValueError, match=sentence):
        continue_text(new(), prompt, extra_tokens=1)


@pytest.mark.message
def test_message_a_row_of_tokens_for_each_text():
    with pytest.raises(ValueError, match=r"^3 rows of tokens but 2 texts; give a row for each$"):
        DecoderOnlyCache(new(), 2).read(torch.tensor([[3], [4], [5]]))


@pytest.mark.message
def test_message_logits_of_a_language_model_are_nan():
    model = new()
    torch.nn.init.constant_(model.embedding.weight, math.nan)
    with pytest.raises(FloatingPointError, match=r"^the model's logits are NaN"):
        continue_text(model, some_ids(), extra_tokens=1)
