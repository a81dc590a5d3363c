"""The table decodes its texts, and each mistaken cache is wrong where the chapter on decoding says so."""

from collections.abc import Callable
from functools import partial

import pytest
import torch

from annotated_transformer.book.chapters.decoding.step_decoders import (
    END,
    FirstKeyOnly,
    SamePosition,
    Stale,
    TableDecoder,
    Unordered,
    WithoutItself,
)
from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.transformer import Transformer

TABLE = {"": {"A": 0.6, "B": 0.4}, "A": {"B": 0.5, END: 0.5}}
NAMES = ["<pad>", "<s>", END, "A", "B"]


def test_law_the_table_gives_the_probabilities_of_the_text_so_far(model: Transformer):
    table = TableDecoder(TABLE, NAMES, model, torch.tensor([[3, 2]]))
    first = table.step(torch.tensor([1])).exp()
    assert first[0].tolist() == pytest.approx([0, 0, 0, 0.6, 0.4])
    table.select(torch.tensor([0, 0]))
    second = table.step(torch.tensor([3, 4])).exp()
    assert second[0].tolist() == pytest.approx([0, 0, 0.5, 0, 0.5])
    assert second[1].tolist() == pytest.approx([0, 0, 1, 0, 0])  # not in the table, so it ends
    assert (table.texts, table.steps) == (["A", "B"], 2)


def logits(kind: MakeDecoder, model: Transformer, tokens: tuple[int, ...] = (1, 6, 3, 5, 6)) -> torch.Tensor:
    with evaluating(model):
        decoder = kind(model, torch.tensor([[4, 5, 2]]))
        return torch.stack([decoder.step(torch.tensor([token]))[0] for token in tokens])


@pytest.mark.parametrize(
    ("kind", "right_at_first"),
    [(SamePosition, True), (FirstKeyOnly, True), (WithoutItself, False), (Stale, False)],
)
def test_law_a_mistaken_cache_is_wrong_from_the_first_or_the_second_step_on(
    stirred: Callable[..., Transformer], kind: MakeDecoder, right_at_first: bool
):
    model = stirred()
    gaps = (logits(kind, model) - logits(KeyValueCache, model)).abs().amax(dim=1)
    assert (gaps[0] < 1e-9) == right_at_first
    assert (gaps[1:] > 1e-3).all()


@pytest.mark.parametrize(("kind", "reads_second"), [(FirstKeyOnly, False), (WithoutItself, True)])
def test_law_a_mistaken_cache_reads_the_first_key(
    stirred: Callable[..., Transformer], kind: MakeDecoder, reads_second: bool
):
    model = stirred()
    found, first, second = (
        logits(kind, model, tokens)[-1] for tokens in ((1, 6, 3, 5), (7, 6, 3, 5), (1, 7, 3, 5))
    )
    assert (first - found).abs().max() > 1e-3
    assert ((second - found).abs().max() > 1e-3) == reads_second


def test_law_a_stale_cache_counts_positions_from_0(stirred: Callable[..., Transformer]):
    assert Stale(stirred(), torch.tensor([[4, 5, 2]])).length == 0


def test_law_a_cache_that_is_not_reordered_is_wrong_in_beam_search_only(stirred: Callable[..., Transformer]):
    model, src = stirred(max_length=8), torch.tensor([[4, 5, 2]])
    assert torch.equal(logits(Unordered, model), logits(KeyValueCache, model))
    found, wrong = (
        beam_search(model, src, beam_size=5, nbest=5, decoder=partial(kind))
        for kind in (KeyValueCache, Unordered)
    )
    assert (found.log_probs - wrong.log_probs).abs().max() > 1e-3
