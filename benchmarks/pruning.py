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

from annotated_transformer import Translator, load_corpus
from annotated_transformer.evaluation import sacrebleu_13a
from annotated_transformer.inspection import ablate_head, attention_maps, head_entropy, head_importance
from annotated_transformer.inspection.heads import KINDS, Kind, attentions
from annotated_transformer.text import Batch, make_batches
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.training import encode_pairs, mean_loss
from benchmarks.quality import sides
from benchmarks.record import begin, write_result

PAIRS = 300
STEP = 5  # heads that are switched off together
SEEDS = (0, 1, 2)  # of the random orders
PARTS = {"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}
Head = tuple[Kind, int, int]


def bleu(translator: Translator, pairs: list[SentencePair], without: Iterable[Head]) -> dict[str, float]:
    """Return BLEU without some heads, on all pairs and on the even and odd ones."""
    texts, references = sides(pairs)
    with ExitStack() as stack:
        for kind, layer, head in without:
            stack.enter_context(ablate_head(translator.model, kind, layer, head))
        translations = translator.translate(texts, split=False)
    return {
        name: round(sacrebleu_13a(translations[part], references[part]).bleu, 2)
        for name, part in PARTS.items()
    }


def end_weights(translator: Translator, batches: list[Batch]) -> dict[Kind, Tensor]:
    """Return each head's mean weight on the source's end, or in the decoder on the first token."""
    config = translator.model.config
    weights_on_end: dict[Kind, list[Tensor]] = {kind: [] for kind in KINDS}
    for batch in batches:
        for kind, weights in attention_maps(translator.model, batch).items():
            queries = (batch.src if kind == "encoder" else batch.labels) != config.pad_id
            keys = batch.src == config.eos_id
            if kind == "decoder":
                keys = torch.zeros_like(batch.decoder_input, dtype=torch.bool)
                keys[:, 0] = True
            on_end = (weights * keys[:, None, None, None]).sum(dim=-1).movedim(0, 2)
            weights_on_end[kind].append(on_end[..., queries])
    return {kind: torch.cat(parts, dim=-1).mean(dim=-1) for kind, parts in weights_on_end.items()}


def measure(translator: Translator, held_out: list[SentencePair], test: list[SentencePair]) -> dict[str, Any]:
    """Return the results of one model."""
    model = translator.model
    batches, even, odd = (
        make_batches(encode_pairs(translator.tokenizer, held_out[part]), batch_tokens=4096)
        for part in PARTS.values()
    )
    measured = {
        "loss_rise": head_importance(model, partial(mean_loss, batches=batches)),
        "loss_rise_even": head_importance(model, partial(mean_loss, batches=even)),
        "loss_rise_odd": head_importance(model, partial(mean_loss, batches=odd)),
        "entropy": head_entropy(model, batches),
        "end_weight": end_weights(translator, batches),
    }
    whole = bleu(translator, test, ())
    heads: list[Head] = [
        (kind, layer, head)
        for kind in KINDS
        for layer, attention in enumerate(attentions(model, kind))
        for head in range(attention.num_heads)
    ]
    rows: list[dict[str, Any]] = []
    for kind, layer, head in heads:
        row: dict[str, Any] = {"kind": kind, "layer": layer, "head": head}
        row["bleu"] = bleu(translator, test, [(kind, layer, head)])
        row |= {name: round(values[kind][layer, head].item(), 4) for name, values in measured.items()}
        rows.append(row)
        print(row, flush=True)
    numbers = range(len(heads))
    orders = {
        "least loss first": sorted(numbers, key=lambda i: rows[i]["loss_rise"]),
        "most diffuse first": sorted(numbers, key=lambda i: -rows[i]["entropy"]),
    }
    for seed in SEEDS:
        drawn = torch.randperm(len(heads), generator=torch.Generator().manual_seed(seed))
        orders[f"random, seed {seed}"] = drawn.tolist()
    counts = range(0, len(heads) + 1, STEP)
    pruned = {
        name: [bleu(translator, test, [heads[i] for i in order[:count]])["all"] for count in counts]
        for name, order in orders.items()
    }
    return {
        "pairs": {"val": len(held_out), "test": len(test)},
        "whole": whole,
        "heads": rows,
        "without_kind": {
            kind: bleu(translator, test, [head for head in heads if head[0] == kind])["all"] for kind in KINDS
        },
        "counts": [*counts],
        "pruned": pruned,
    }


def main() -> None:
    """Measure a shipped model, and write the result."""
    options = begin(__doc__, "data")
    splits = load_corpus("tatoeba", folder=options.data).splits
    results = measure(Translator.from_pretrained("en-de"), splits["val"][:PAIRS], splits["test"][:PAIRS])
    write_result("pruning_en-de", results, seed=SEEDS[0])


if __name__ == "__main__":
    main()
