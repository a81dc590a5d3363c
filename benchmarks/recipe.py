"""What the benchmarks of quality share: a training by a recipe, and what is to be recorded of it."""

import dataclasses
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from annotated_transformer import checkpoint
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import make_batches
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.segmentation import Segmentations, encode_pairs
from annotated_transformer.text.tokenizer import Tokenizer
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.keeper import METRICS, Keeper, fingerprint
from annotated_transformer.training.report import Report
from annotated_transformer.training.snapshots import save_snapshot, snapshots
from annotated_transformer.training.state_file import read_counters
from annotated_transformer.training.trainer import train


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All that decides a training, apart from corpus and seed.

    Attributes:
        shape: Of the model; the vocabulary is as large as the tokenizer becomes.
        vocab_size: Asked of the tokenizer.
        training: How long and how fast.
        average: Epochs whose weights are averaged at the end.
        bpe_dropout: Share of the merges that are left out, `Segmentations`' p.
    """

    shape: TransformerConfig
    vocab_size: int
    training: TrainingConfig
    average: int
    bpe_dropout: float = 0.0


def follow(recipe: Recipe, corpus: Corpus, *, seed: int, folder: Path) -> dict[str, object]:
    """Train by `recipe` into `folder`, or go on with that; return what is to be recorded.

    The folder has the averaged model at the end.
    """
    texts = corpus.splits["train"]
    tokenizer = Tokenizer.train((text for pair in texts for text in pair), vocab_size=recipe.vocab_size)
    torch.manual_seed(seed)  # for the first weights and for dropout
    model = Transformer(dataclasses.replace(recipe.shape, vocab_size=tokenizer.vocab_size))
    validation = make_batches(encode_pairs(tokenizer, corpus.splits["val"]), batch_tokens=4096)
    started = time.monotonic()

    def keep(report: Report) -> None:
        save_snapshot(folder, report.epoch, model, tokenizer, keep=recipe.average)
        loss = report.validation_loss or math.nan
        tqdm.write(
            f"epoch {report.epoch}, step {report.step}: training loss {report.training_loss:.3f}, "
            f"validation perplexity {math.exp(loss):.3f}, cosine {report.encoder_cosine:.2f}, "
            f"{report.tokens_per_second:.0f} tokens/s, {(time.monotonic() - started) / 60:.1f} min"
        )

    with Keeper(folder, identity={"corpus": fingerprint(texts)}) as keeper:
        train(
            model,
            Segmentations(tokenizer, texts, p=recipe.bpe_dropout, seed=seed)
            if recipe.bpe_dropout
            else encode_pairs(tokenizer, texts),
            recipe.training,
            generator=torch.Generator().manual_seed(seed),
            validation=validation,
            report=keep,
            keeper=keeper,
        )
    checkpoint.save(folder, *checkpoint.average(snapshots(folder)[-recipe.average :]))
    return {
        "recipe": dataclasses.asdict(recipe),
        "parameters": sum(p.numel() for p in model.parameters()),
        "training_pairs": len(texts),
        "minutes": round(read_counters(folder).seconds / 60, 1),  # of all runs, validation included
        "epochs": [json.loads(line) for line in (folder / METRICS).read_text().splitlines()],
    }
