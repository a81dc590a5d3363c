"""The benchmark of switched-off heads, on a few sentences of our own, and what its result has to hold."""

import pytest
import torch

from annotated_transformer.book.results import read_result
from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.heads import KINDS, attention_maps
from annotated_transformer.text.batching import encode_pairs, make_batches
from benchmarks import pruning

pytestmark = pytest.mark.usefixtures("unchecked")
PAIRS = [
    ("I see the dog.", "Ich sehe den Hund."),
    ("The old man sleeps.", "Der alte Mann schläft."),
    ("She has my book.", "Sie hat mein Buch."),
    ("Where is the garden?", "Wo ist der Garten?"),
]


@pytest.fixture(scope="module")
def translator() -> Translator:
    shipped = Translator.from_pretrained("en-de")
    shipped.model.float()
    return Translator(shipped.model, shipped.tokenizer, decoder=KeyValueCache)


def test_law_bleu_falls_without_cross_attention_and_only_inside_the_block(translator: Translator):
    heads = pruning.all_heads(translator)
    assert len(set(heads)) == 60
    whole = pruning.bleu(translator, PAIRS, ())
    without = pruning.bleu(translator, PAIRS, [head for head in heads if head[0] == "cross"])
    assert without["all"] < 0.5 * whole["all"]
    assert pruning.bleu(translator, PAIRS, ()) == whole
    assert set(whole) == {"all", "even", "odd"}
    assert pruning.bleu(translator, PAIRS[::2], ())["all"] == whole["even"]
    assert pruning.bleu(translator, PAIRS[1::2], ())["all"] == whole["odd"]


def test_oracle_the_weight_on_the_end_matches_one_sentence_at_a_time(translator: Translator):
    pairs = encode_pairs(translator.tokenizer, PAIRS)
    found = pruning.end_weights(translator, make_batches(pairs, batch_tokens=4096))
    rows: dict[str, list[torch.Tensor]] = {kind: [] for kind in KINDS}
    for pair in pairs:  # one at a time, so without padding
        (batch,) = make_batches([pair], batch_tokens=4096)
        for kind, weights in attention_maps(translator.model, batch).items():
            rows[kind].append(weights[0, ..., 0 if kind == "decoder" else -1])
    for kind, columns in rows.items():
        wanted = torch.cat(columns, dim=-1).mean(dim=-1)
        torch.testing.assert_close(found[kind], wanted, rtol=0, atol=1e-5)
        assert wanted.std() > 0.01


def test_law_heads_are_switched_off_in_the_orders_that_the_measurements_give(translator, monkeypatch):
    asked, lengths = [], []

    def look(_: object, pairs: list, without: tuple) -> dict[str, float]:
        asked.append((pairs, list(without)))
        return {"all": float(len(asked[-1][1]))}

    values = {
        kind: torch.rand(4, 5, generator=torch.Generator().manual_seed(n)) for n, kind in enumerate(KINDS)
    }
    others = {kind: 1 - part for kind, part in values.items()}
    monkeypatch.setattr(pruning, "bleu", look)
    monkeypatch.setattr(pruning, "make_batches", lambda pairs, **_: lengths.append(len(pairs)))
    for name, found in (("head_importance", values), ("head_entropy", others), ("end_weights", values)):
        monkeypatch.setattr(pruning, name, lambda *_, found=found: found)
    result = pruning.measure(translator, PAIRS[:3], PAIRS)
    assert lengths == [3, 2, 1]  # all, even, odd: measured on held-out pairs, and translated on test pairs
    assert all(pairs == PAIRS for pairs, _ in asked)
    heads, steps = pruning.all_heads(translator), len(result["counts"]) - 1
    orders = [
        [without for _, without in asked[start : start + steps]]
        for start in range(1 + 60 + len(KINDS), len(asked), steps)
    ]
    rising = sorted(heads, key=lambda head: values[head[0]][head[1], head[2]].item())
    assert orders[0] == orders[1] == [rising[:count] for count in result["counts"][1:]]
    assert len({str(order[0]) for order in orders[2:]}) == len(pruning.SEEDS)
    assert set(map(tuple, result["pruned"].values())) == {tuple(map(float, result["counts"]))}


def test_law_the_committed_result_is_complete():
    result = read_result("pruning_en-de")
    assert len(result["heads"]) == 60
    assert result["pairs"] == {"val": pruning.PAIRS, "test": pruning.PAIRS}
    assert result["counts"] == list(range(0, 61, pruning.STEP))
    assert len(result["pruned"]) == 2 + len(pruning.SEEDS)
    ends = {line[-1] for line in result["pruned"].values()}
    assert len(ends) == 1  # the same model, whatever the order
    assert {line[0] for line in result["pruned"].values()} == {result["whole"]["all"]}
