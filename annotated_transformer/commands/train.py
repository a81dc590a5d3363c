"""`train`: its options, and `train_command`, whose work is in `running/train.py`."""

import argparse
import dataclasses
from pathlib import Path
from typing import Annotated, Literal

from annotated_transformer.commands.arguments import Group, Option
from annotated_transformer.commands.options.corpus import CorpusOptions, OwnFileOptions
from annotated_transformer.commands.options.process import ProcessOptions
from annotated_transformer.commands.options.training import DEFAULT_SHAPE, DEFAULT_TRAINING
from annotated_transformer.config import TransformerConfig
from annotated_transformer.registry import PARTS
from annotated_transformer.training.config import LIMITS, Recipe, TrainingConfig


class RunOptions:
    """Training run.

    Where it starts, and what it saves.

    Attributes:
        out: Folder of the training run: it gets the model, and the state to resume from.
        start: Folder of a trained model, or name of one in this package, to start from: with its shape,
            tokenizer and weights; `None` means new weights.
        save_minutes: Longest time between two checkpoints, in minutes.
        seed: Random seed, from 0 to 2**32 - 1.
        config: JSON file with fields of TransformerConfig and TrainingConfig, such as
            {"model": {"max_length": 512}, "training": {"warmup_steps": 400}}; options override it; `None`
            means no file.
        device: Device to train on; `None` means cuda if available, otherwise cpu.
    """

    out: Path
    start: Path | None = None
    save_minutes: float = 3.0
    seed: int = 0
    config: Annotated[Path | None, Option(file="read")] = None
    device: Literal["cpu", "cuda"] | None = None


DESCRIPTION = (
    "Train a tokenizer and a small model, and save both. Signals that end a program, such as SIGINT "
    "(Ctrl-C), SIGTERM, and SIGHUP (a lost connection), save a checkpoint first; a second one ends the run "
    "at once. An interrupted run resumes when the same command is given again. Under torchrun, several "
    "processes share each batch."
)
EXAMPLES = (
    "--corpus toy --minutes 5 --out my_model",
    "--train-source a.txt --train-target b.txt \\\n      --source en --target es --minutes 30 --out my_model",
)
GROUPS = (
    Group(CorpusOptions),
    Group(OwnFileOptions, without=("test_source", "test_target", "test_tsv")),
    Group(RunOptions),
    Group(
        TransformerConfig,
        without=("pad_id", "bos_id", "eos_id"),  # those of the tokenizer
        title="model (with --start, the defaults are those of its model, except for --dropout)",
        defaults=dataclasses.asdict(DEFAULT_SHAPE),
        choices=PARTS,
    ),
    Group(TrainingConfig, LIMITS, title="limits (give --minutes or --steps)", defaults=DEFAULT_TRAINING),
    Group(TrainingConfig, without=LIMITS, title="training", defaults=DEFAULT_TRAINING),
    Group(Recipe, without=("shape", "training"), title="recipe"),
    Group(ProcessOptions),
)


def train_command(options: argparse.Namespace) -> None:
    """Train a tokenizer and a small model, and save both."""
    from annotated_transformer.commands.running.train import train_and_save  # slow to import

    train_and_save(options)
