"""`train`: learn a tokenizer and a model from a corpus, and keep both in a folder."""

import argparse
import dataclasses
import math
import os
import sys
from pathlib import Path

import torch
from tqdm import tqdm

from annotated_transformer import checkpoint
from annotated_transformer.commands.device import DEVICES, take_device
from annotated_transformer.commands.options import add_corpus_options
from annotated_transformer.config import TINY
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import make_batches
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.text.segmentation import encode_pairs
from annotated_transformer.text.tokenizer import Tokenizer
from annotated_transformer.training.compilation import compile_stacks
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.keeper import Keeper, fingerprint
from annotated_transformer.training.report import Report
from annotated_transformer.training.snapshots import save_snapshot, snapshots
from annotated_transformer.training.team import join_team
from annotated_transformer.training.trainer import train

SIZES = ("num_layers", "d_model", "d_ff", "num_heads")  # of the model, as `TransformerConfig` names them


def add_train_options(command: argparse.ArgumentParser) -> None:
    """Add what `train` takes."""
    add_corpus_options(command)
    command.add_argument("--out", type=Path, required=True, help="folder for the model")
    command.add_argument("--minutes", type=float, help="stop after so many minutes of training")
    command.add_argument("--steps", type=int, help="stop after so many updates of the weights")
    command.add_argument("--vocab-size", type=int, default=4000, help="of both languages (%(default)s)")
    for size in SIZES:
        tiny = getattr(TINY, size)
        command.add_argument(f"--{size.replace('_', '-')}", type=int, default=tiny, help="(%(default)s)")
    command.add_argument("--batch-tokens", type=int, default=2048, help="of each side (%(default)s)")
    command.add_argument("--warmup-steps", type=int, default=200, help="rising learning rate (%(default)s)")
    command.add_argument("--peak", type=float, default=3e-3, help="highest learning rate (%(default)s)")
    command.add_argument("--dropout", type=float, default=0.1, help="as in the paper (%(default)s)")
    command.add_argument("--average", type=int, default=1, metavar="EPOCHS", help="(%(default)s)")
    command.add_argument("--save-minutes", type=float, default=3.0, help="between two saves (%(default)s)")
    command.add_argument("--r-drop", type=float, default=0.0, metavar="ALPHA", help="(%(default)s: none)")
    command.add_argument("--bf16", action="store_true", help="products in bfloat16")
    command.add_argument(
        "--fast", action=argparse.BooleanOptionalAction, help="quicker modules (default: if not on CUDA)"
    )
    command.add_argument("--compile", action="store_true", help="have encoder and decoder compiled")
    command.add_argument("--device", choices=DEVICES, help="(default: cuda, if there is one)")
    command.add_argument("--seed", type=int, default=0, help="of everything random (%(default)s)")


def train_command(options: argparse.Namespace) -> None:
    """Learn a tokenizer and a small model, and save both.

    A training that was stopped goes on when the same command is given again. Under torchrun,
    several processes share each batch.
    """
    device = take_device(options.device)
    config = _training_config(options, fast=device.type == "cpu")
    with join_team() as team:
        _train(options, config, device, first=team.rank == 0)


def _train(options: argparse.Namespace, config: TrainingConfig, device: torch.device, *, first: bool) -> None:
    corpus = load_corpus(options.corpus, folder=options.data, source=options.source, target=options.target)
    _refuse_unwritable(options.out)
    texts = corpus.splits["train"]
    tokenizer = _learn_tokenizer(corpus, options.vocab_size)
    model = _build(options, tokenizer.vocab_size, device)
    validation = encode_pairs(tokenizer, corpus.splits["val"]) if "val" in corpus.splits else None
    if first:  # of the processes: the others only compute
        print(corpus.summary(), file=sys.stderr)

    def keep(report: Report) -> None:
        if first:
            _say(report)
            save_snapshot(options.out, report.epoch, model, tokenizer, keep=options.average)
            checkpoint.save(options.out, model, tokenizer)

    identity = {"corpus": fingerprint(texts), "tokenizer": fingerprint(tokenizer.to_json())}
    identity |= {"compile": "yes"} if options.compile else {}  # then dropout draws other numbers
    with Keeper(options.out, identity=identity, seconds=60 * options.save_minutes) as keeper:
        train(
            model,
            encode_pairs(tokenizer, texts),
            config,
            generator=torch.Generator().manual_seed(options.seed),
            validation=make_batches(validation, batch_tokens=config.batch_tokens) if validation else None,
            report=keep,
            keeper=keeper,
        )
        if first:
            _save_mean(options.out, keeper.step)


def _learn_tokenizer(corpus: Corpus, vocab_size: int) -> Tokenizer:
    texts = (text for pair in corpus.splits["train"] for text in pair)
    tokenizer = Tokenizer.train(texts, vocab_size=vocab_size)
    return tokenizer.cleaning() if corpus.cleaned else tokenizer


def _build(options: argparse.Namespace, vocab_size: int, device: torch.device) -> Transformer:
    torch.manual_seed(options.seed)  # for the first weights and for dropout
    sizes = {size: getattr(options, size) for size in SIZES}
    shape = dataclasses.replace(TINY, vocab_size=vocab_size, dropout=options.dropout, **sizes)
    model = Transformer(shape).to(device)
    if options.compile:
        compile_stacks(model)
    return model


def _save_mean(folder: Path, step: int) -> None:
    epochs = snapshots(folder)
    checkpoint.save(folder, *checkpoint.average(epochs))
    mean = "" if len(epochs) == 1 else f", the mean of the last {len(epochs)} epochs' weights"
    print(f"{folder} has the model of step {step}{mean}", file=sys.stderr)


def _training_config(options: argparse.Namespace, *, fast: bool) -> TrainingConfig:
    if options.average < 1:
        raise ValueError(f"--average {options.average} is the mean of nothing; give 1 or more epochs")
    return TrainingConfig(
        steps=options.steps,
        minutes=options.minutes,
        batch_tokens=options.batch_tokens,
        warmup_steps=options.warmup_steps,
        peak=options.peak,
        r_drop=options.r_drop,
        bf16=options.bf16,
        fast=fast if options.fast is None else options.fast,
    )


def _say(report: Report) -> None:
    line = f"step {report.step}: training loss {report.training_loss:.3f}"
    if report.validation_loss is not None:
        perplexity = math.exp(report.validation_loss)
        line += f", validation loss {report.validation_loss:.3f} (perplexity {perplexity:.2f})"
    tqdm.write(line, file=sys.stderr)


def _refuse_unwritable(folder: Path) -> None:
    """Find out before the training, not after it."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to; give another folder for --out")
