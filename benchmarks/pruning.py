"""How much BLEU does each head of a shipped model contribute, and how many heads can be switched off?

    python -m benchmarks.pruning --data DIR

On the first validation pairs of Tatoeba, we measure each head's attention weights, and how much the loss
rises without it. On the first test pairs, we translate by greedy search without each head, and without more
and more heads, in several orders. A head is switched off by zeroing its output; nothing is trained again.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.bleu import sacrebleu_13a
from annotated_transformer.inspection.heads import (
    KINDS,
    Kind,
    ablate_head,
    attention_maps,
    attentions,
    head_entropy,
    head_importance,
)
from annotated_transformer.text.batching import Batch, encode_pairs, make_batches
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.training.loss import mean_loss
from benchmarks.record import RESULTS, begin, data_parser, write_result

PAIRS = 300
STEP = 5  # heads that are switched off together
SEEDS = (0, 1, 2)  # of the random orders
PARTS = {"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}
Head = tuple[Kind, int, int]


def all_heads(translator: Translator) -> list[Head]:
    """Return every head of the model: its kind, its layer, and its number, counted from 0."""
    return [
        (kind, layer, head)
        for kind in KINDS
        for layer, attention in enumerate(attentions(translator.model, kind))
        for head in range(attention.num_heads)
    ]


def bleu(translator: Translator, pairs: list[SentencePair], without: Iterable[Head]) -> dict[str, float]:
    """Return BLEU without some heads, on all pairs and on the even and odd ones."""
    texts, references = map(list, zip(*pairs, strict=True))
    with ExitStack() as stack:
        for kind, layer, head in without:
            stack.enter_context(ablate_head(translator.model, kind, layer, head))
        translations = translator.translate(texts, split=False)
    return {
        name: round(sacrebleu_13a(translations[part], references[part]).bleu, 2)
        for name, part in PARTS.items()
    }


def batches_of(translator: Translator, pairs: list[SentencePair]) -> list[Batch]:
    """Return the pairs as batches of token ids."""
    return make_batches(encode_pairs(translator.tokenizer, pairs), batch_tokens=4096)


def end_weights(translator: Translator, batches: list[Batch]) -> dict[Kind, Tensor]:
    """Return each head's mean weight on the source's end, or in the decoder on the first token."""
    config = translator.model.config
    sums: dict[Kind, list[Tensor]] = {kind: [] for kind in KINDS}
    for batch in batches:
        for kind, weights in attention_maps(translator.model, batch).items():
            queries = (batch.src if kind == "encoder" else batch.labels) != config.pad_id
            keys = batch.decoder_input.new_zeros(batch.decoder_input.shape) == 1
            keys[:, 0] = True
            if kind != "decoder":
                keys = batch.src == config.eos_id
            on_end = (weights * keys[:, None, None, None]).sum(dim=-1).movedim(0, 2)
            sums[kind].append(on_end[..., queries])
    return {kind: torch.cat(rows, dim=-1).mean(dim=-1) for kind, rows in sums.items()}


def measure(translator: Translator, held_out: list[SentencePair], test: list[SentencePair]) -> dict[str, Any]:
    """Return what the result file has for one model."""
    batches, even, odd = (batches_of(translator, held_out[part]) for part in PARTS.values())
    measured = {
        f"loss_rise{part}": head_importance(translator.model, partial(mean_loss, batches=found))
        for part, found in (("", batches), ("_even", even), ("_odd", odd))
    }
    measured |= {
        "entropy": head_entropy(translator.model, batches),
        "end_weight": end_weights(translator, batches),
    }
    whole, heads = bleu(translator, test, ()), all_heads(translator)
    print("whole", whole, flush=True)
    rows: list[dict[str, Any]] = []
    for kind, layer, head in heads:
        row: dict[str, Any] = {
            "kind": kind,
            "layer": layer,
            "head": head,
            "bleu": bleu(translator, test, [(kind, layer, head)]),
        }
        for name, values in measured.items():
            row[name] = round(values[kind][layer, head].item(), 4)
        rows.append(row)
        print(row, flush=True)
    kinds = {kind: bleu(translator, test, [h for h in heads if h[0] == kind])["all"] for kind in KINDS}
    orders = {"least loss first": sorted(range(len(rows)), key=lambda i: rows[i]["loss_rise"])}
    orders["most diffuse first"] = sorted(range(len(rows)), key=lambda i: -rows[i]["entropy"])
    for seed in SEEDS:
        drawn = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
        orders[f"random, seed {seed}"] = drawn.tolist()
    counts = list(range(STEP, len(rows) + 1, STEP))
    pruned: dict[str, list[float]] = {}
    for name, order in orders.items():
        lines = [bleu(translator, test, [heads[i] for i in order[:count]])["all"] for count in counts]
        pruned[name] = [whole["all"], *lines]
        print(name, pruned[name], flush=True)
    return {
        "pairs": {"val": len(held_out), "test": len(test)},
        "whole": whole,
        "heads": rows,
        "without_kind": kinds,
        "counts": [0, *counts],
        "pruned": pruned,
    }


def main() -> None:
    """Measure a shipped model, and write the result."""
    options = begin(data_parser(__doc__))
    corpus = load_corpus("tatoeba", folder=options.data, source="en", target="de")
    translator = Translator.from_pretrained("en-de")
    results = measure(translator, corpus.splits["val"][:PAIRS], corpus.splits["test"][:PAIRS])
    write_result(RESULTS / "pruning_en-de.json", seed=SEEDS[0], results=results)


if __name__ == "__main__":
    main()
