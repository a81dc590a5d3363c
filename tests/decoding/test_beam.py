"""Beam search: a wide enough beam finds the best of all targets, and a beam of 1 is greedy search."""

import math
from collections.abc import Callable

import pytest
import torch

from annotated_transformer.decoding import beam
from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder, NoCache
from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import EOS_ID, PAD_ID
from tests.decoder_steps import words
from tests.decoding.conftest import all_targets, log_probs

A, B = 3, 4


@pytest.mark.parametrize(
    ("penalty", "length", "nbest"),
    [(GnmtLength(), 3, 1), (PlainLength(), 4, 5), (PlainLength(0.0), 3, 5), (PlainLength(), 1, 3)],
)
@torch.no_grad()
def test_oracle_a_beam_as_wide_as_all_targets_is_exhaustive_search(stirred, penalty, length, nbest):
    targets = list(all_targets([EOS_ID, A, B], length))
    divisor = penalty(torch.tensor([len(target) for target in targets], dtype=torch.float64))
    sources = [[A, B, A, B, EOS_ID][-length:], [EOS_ID]]
    greedy_fails = False
    for seed in (12, 13, 19):
        model = stirred(seed, vocab_size=5, max_length=length, num_layers=1)
        log_p = torch.stack([log_probs(model, source, targets) for source in sources])
        best = (log_p / divisor).argsort(dim=1, descending=True)[:, :nbest]
        for decoder in (NoCache, KeyValueCache, FastKeyValueCache):
            sizes = {"beam_size": 3**length, "nbest": nbest}
            found = beam_search(model, pad(sources), **sizes, length_penalty=penalty, decoder=decoder)
            assert words(found.ids) == [targets[i] for i in best.flatten()]
            expected = log_p.gather(1, best).flatten()
            torch.testing.assert_close(found.log_probs, expected, rtol=0, atol=1e-10)
        greedy_fails |= words(greedy_search(model, pad(sources))) != words(found.ids[::nbest])
    assert greedy_fails or length == 1  # otherwise greedy search would pass, too


@pytest.mark.usefixtures("unchecked")
def test_law_results_do_not_depend_on_batching(stirred: Callable[..., Transformer], sources: list[list[int]]):
    different = set()
    for seed in (19, 22):
        model = stirred(seed, norm="pre")
        together = beam_search(model, pad(sources), beam_size=3)
        alone = [beam_search(model, pad([source]), beam_size=3) for source in sources]
        assert words(together.ids) == [words(one.ids)[0] for one in alone]
        scores = torch.cat([one.penalized_log_probs for one in alone])
        torch.testing.assert_close(together.penalized_log_probs, scores, rtol=0, atol=1e-10)
        assert (together.ids != PAD_ID).any(dim=0).all()  # no column is all padding
        different |= {tuple(ids) for ids in words(together.ids)}
    assert len(different) > 5


@pytest.mark.equation("eq-stop")
def test_law_a_search_stops_when_no_hypothesis_can_win(stirred, script):
    """EOS has 0.9 at once: to beat it, the rest, at most 0.06, needs the length penalty of 400 tokens."""
    model, src, lengths = stirred(max_length=101), pad([[4, EOS_ID]]), []

    def scores(said: list[int]) -> list[float]:
        lengths.append(len(said))
        return [0, 0, *map(math.log, (0.9, 0.06, 0.04))]

    found = beam_search(model, src, beam_size=3, decoder=script(scores))
    assert found.ids.tolist() == [[EOS_ID]]
    assert set(lengths) == {0}
    beam_search(model, src, beam_size=3, length_penalty=PlainLength(), decoder=script(scores))
    assert max(lengths) > 0  # log(0.06) / 52 is still better than log(0.9)


def test_law_a_finished_hypothesis_narrows_the_beam(model: Transformer, script: Callable[..., MakeDecoder]):
    """A beam of 2 keeps EOS and A; the one place left goes to A B, not to A EOS, which would have won."""
    after = {(): [0.35, 0.4, 0.25], (A,): [0.48, 0.02, 0.5], (A, B): [0.4, 0.3, 0.3]}  # EOS, A, B

    def scores(said: list[int]) -> list[float]:
        return [0, 0, *map(math.log, after.get(tuple(said), [0.3, 0.3, 0.4]))]

    found = beam_search(
        model, pad([[A, EOS_ID]]), beam_size=2, length_penalty=PlainLength(), decoder=script(scores)
    )
    assert found.ids.tolist() == [[A, B, EOS_ID]]
    assert found.log_probs.exp().item() == pytest.approx(0.4 * 0.5 * 0.4)
    assert found.penalized_log_probs.item() < math.log(0.4 * 0.48) / 2  # that of A EOS


@pytest.mark.parametrize(
    "search", [greedy_search, lambda model, src: beam_search(model, src, nbest=3).ids], ids=["greedy", "beam"]
)
def test_law_finished_targets_are_filled_with_the_models_padding(stirred: Callable[..., Transformer], search):
    model = stirred(25, pad_id=7)
    found = search(model, pad([[4, EOS_ID], [9, 9, EOS_ID], [5, 6, 8, 9, 10, EOS_ID]], pad_id=7))
    finished = torch.nn.functional.pad((found == EOS_ID).cumsum(dim=1), (1, -1)) > 0
    assert torch.equal(finished, found == 7)
    assert finished.any()


@pytest.mark.message
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"nbest": 0}, "nbest=0 is not a number of hypotheses; give a whole number from 1 on"),
        ({"nbest": 1.5}, "nbest=1.5 is not a number of hypotheses"),
        ({"beam_size": 3, "nbest": 4}, "nbest=4 hypotheses are more than beam_size=3 finds; give "),
        ({"beam_size": 0}, r"beam_size=0 keeps no hypothesis; give 1 \(greedy"),
        ({"beam_size": 2.5}, r"beam_size=2\.5 keeps no hypothesis"),
        ({"beam_size": 30}, "beam_size=30 and 2 sources make 660 candidates in a step, more than 600;"),
        ({"length_penalty": GnmtLength(1e4)}, "the length penalty of 23 tokens is inf, and it divides"),
        ({"length_penalty": lambda length: length * math.nan}, "the length penalty .* is nan"),
        ({"length_penalty": torch.zeros_like}, r"the length penalty .* is 0\.0"),
    ],
)
def test_message_a_search_that_cannot_be(model: Transformer, monkeypatch, options: dict, sentence: str):
    monkeypatch.setattr(beam, "CANDIDATES", 600)
    with pytest.raises(ValueError, match=sentence):
        beam_search(model, pad([[4, EOS_ID]] * 2), **options)


@pytest.mark.message
def test_message_all_logits_are_nan(model: Transformer, script: Callable[..., MakeDecoder]):
    with pytest.raises(FloatingPointError, match="the probability 0 or NaN; its weights are damaged"):
        beam_search(model, pad([[4, EOS_ID]]), decoder=script(lambda said: [math.nan] * 6))
