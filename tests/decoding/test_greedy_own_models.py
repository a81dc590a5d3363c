"""Searches take models other than the Transformer, and continue their prompts."""

import pytest
import torch

from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.greedy import EXTRA_TOKENS, greedy_search
from annotated_transformer.decoding.sampling import TopK, sample
from annotated_transformer.model.trainable import TrainableModel
from annotated_transformer.text.batching import pad
from tests.own_models import SHAPE, LanguageModel, make

PROMPTS = [[1, 5], [1], [1, 7, 8, 9], [1, 5, 1, 6]]


def greedily(model: LanguageModel, prompt: list[int], extra_tokens: int) -> list[int]:
    """Return the most likely continuation of one prompt, by whole passes."""
    ids = list(prompt)
    while len(ids) < min(len(prompt) + extra_tokens, SHAPE.max_length + 1) and ids[-1] != 2:
        with torch.no_grad():
            logits = model(torch.tensor([ids]))[0, -1]
        logits[[0, 1]] = -torch.inf
        ids.append(int(logits.argmax()))
    return ids[1:]


@pytest.mark.parametrize("extra_tokens", [3, EXTRA_TOKENS])
def test_law_each_prompt_is_continued_as_alone(extra_tokens: int):
    lengths = set()
    for seed in range(7):
        model = make(LanguageModel, seed).double()
        with torch.no_grad():
            model.embedding.weight[2] *= 2  # EOS is likely at times
        found = greedy_search(model, pad(PROMPTS), extra_tokens=extra_tokens)
        expected = [greedily(model.eval(), prompt, extra_tokens) for prompt in PROMPTS]
        assert found.tolist() == pad(expected).tolist()
        lengths |= {len(ids) - len(prompt) + 1 for ids, prompt in zip(expected, PROMPTS, strict=True)}
    assert max(lengths) == min(extra_tokens, SHAPE.max_length)
    assert len(lengths) > 1  # some end before the limit


def test_law_a_sample_begins_with_its_prompt_and_is_the_greedy_target_at_top_1():
    model, prompts = make(LanguageModel), pad([[1, 5, 9]] * 7)
    draws = sample(model, prompts, generator=torch.Generator().manual_seed(0), extra_tokens=5)
    assert draws[:, :2].tolist() == [[5, 9]] * 7
    assert len({tuple(row) for row in draws.tolist()}) > 1
    (first, *_) = greedy_search(model, prompts, extra_tokens=5).tolist()
    only = sample(model, prompts, generator=torch.Generator(), logits_processors=[TopK(1)], extra_tokens=5)
    assert only.tolist() == [first] * 7


def test_law_a_prompt_that_ends_with_eos_is_a_whole_target():
    found = greedy_search(make(LanguageModel), pad([[1, 5, 2], [1, 6]]), extra_tokens=3)
    assert found[0].tolist() == [5, 2] + [0] * (found.size(1) - 2)


def test_law_a_beam_of_one_is_greedy_search_for_prompts_of_any_length():
    model, prompts = make(LanguageModel), pad(PROMPTS)
    found = beam_search(model, prompts, beam_size=1, extra_tokens=5)
    assert torch.equal(found.ids, greedy_search(model, prompts, extra_tokens=5))


def test_oracle_a_beam_as_wide_as_the_vocabulary_finds_the_best_of_all_continuations():
    model, prompt = make(LanguageModel).double().eval(), [1, 5, 6]
    pairs = torch.cartesian_prod(*2 * [torch.arange(3, SHAPE.vocab_size)])  # that do not end
    with torch.no_grad():
        logits = model(torch.cat([torch.tensor([prompt]).expand(len(pairs), -1), pairs], dim=1))[:, 2:4]
    logits[..., :2] = -torch.inf  # neither PAD nor BOS
    summed = logits.log_softmax(-1).gather(2, pairs[:, :, None]).sum((1, 2))
    found = beam_search(model, torch.tensor([prompt]), beam_size=17, nbest=17, extra_tokens=2)
    best = next(row for row, ids in enumerate(found.ids.tolist()) if 2 not in ids)
    assert found.ids[best].tolist() == [5, 6, *pairs[summed.argmax()].tolist()]
    torch.testing.assert_close(found.log_probs[best].double(), summed.max(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("extra_tokens", [1, 4])
def test_law_extra_tokens_limit_the_targets_of_a_transformer(stirred, sources, extra_tokens: int):
    model, src = stirred(22), pad(sources)
    whole, short = greedy_search(model, src), greedy_search(model, src, extra_tokens=extra_tokens)
    limits = (src != 0).sum(dim=1) + extra_tokens
    for ids, cut, limit in zip(whole.tolist(), short.tolist(), limits.tolist(), strict=True):
        assert [x for x in cut if x] == [x for x in ids if x][:limit]
    assert short.size(1) < whole.size(1)


@pytest.mark.message
@pytest.mark.parametrize("extra_tokens", [0, -1, 2.5])
def test_message_no_tokens_to_generate(extra_tokens):
    expected = f"extra_tokens={extra_tokens} leaves no token to generate; give 1 or more"
    with pytest.raises(ValueError, match=expected):
        greedy_search(make(LanguageModel), pad(PROMPTS), extra_tokens=extra_tokens)


@pytest.mark.message
def test_message_a_model_that_says_no_steps():
    class Scorer(LanguageModel):
        start = TrainableModel.start
        loss = TrainableModel.loss

    model = Scorer(SHAPE)
    with pytest.raises(NotImplementedError, match=r"Scorer has no method start\(src\), which decoding needs"):
        greedy_search(model, pad(PROMPTS))
    with pytest.raises(NotImplementedError, match=r"Scorer has no method loss\(batch, \*, smoothing\), whi"):
        model.loss(None, smoothing=0.0)


@pytest.mark.message
def test_message_a_prompt_without_bos():
    with pytest.warns(UserWarning, match="^prompt 2 of 2 does not begin with bos_id=1, so a model trained"):
        greedy_search(make(LanguageModel), pad([[1, 5], [5]]), extra_tokens=1)


@pytest.mark.message
def test_message_prompts_without_a_token_or_with_padding_before_one():
    with pytest.raises(ValueError, match="has an empty source: every row needs a token that is not padding"):
        greedy_search(make(LanguageModel), torch.tensor([[1], [0]]))
    with pytest.raises(ValueError, match=r"source 2 of 2 has padding .* token 3, .*; pad only behind the"):
        greedy_search(make(LanguageModel), torch.tensor([[1, 5, 6, 7], [0, 0, 0, 1]]))
