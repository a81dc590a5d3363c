"""The options of `train`, and its help."""

import argparse
from typing import Any, get_args, get_type_hints

from annotated_transformer.commands.options import DEVICES, add_corpus_options, describe, path
from annotated_transformer.config import TINY, TransformerConfig

SIZES = {  # fields of `TransformerConfig`
    "num_layers": "number of encoder layers, and of decoder layers",
    "d_model": "features of a token between layers",
    "d_ff": "features inside the feed-forward networks",
    "num_heads": "attention heads in each layer",
}


def add_train_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `train`."""
    describe(
        command,
        "Train a tokenizer and a small model, and save both.",
        "--corpus toy --minutes 5 --out my_model",
        "--train-source a.txt --train-target b.txt \\\n"
        "      --source en --target es --minutes 30 --out my_model",
    )
    add_corpus_options(command)

    def add(option: str, text: str, **settings: Any) -> None:
        command.add_argument(option, help=text, **settings)

    add("--out", "folder for the model and for the state of the training run", type=path, required=True)
    add(
        "--start",
        "folder of a trained model, or name of one in this package, to start from: with its shape, "
        "tokenizer and weights (default: new weights)",
        type=path,
        metavar="MODEL",
    )
    add("--minutes", "stop after this many minutes of training (default: no limit)", type=float)
    add("--steps", "stop after this many updates of the weights (default: no limit)", type=int)
    add(
        "--vocab-size",
        "size of the vocabulary, which both languages share (default: 4000, or that of --start)",
        type=int,
    )
    for size, text in SIZES.items():
        default = f"(default: {getattr(TINY, size)}, or that of --start)"
        add(f"--{size.replace('_', '-')}", f"{text} {default}", type=int)
    add(
        "--norm",
        "where layers are normalized: post, after the residual sum, as in the paper; pre, before the "
        "sub-layer (default: post, or that of --start)",
        choices=get_args(get_type_hints(TransformerConfig)["norm"]),
    )
    add(
        "--batch-tokens",
        "maximum number of tokens on each side of a batch, padding included (default: 2048)",
        type=int,
    )
    add("--warmup-steps", "updates during which the learning rate rises (default: 1000)", type=int)
    add("--max-lr", "highest learning rate, at the end of the warm-up (default: 0.003)", type=float)
    add(
        "--label-smoothing",
        "probability mass spread uniformly over the vocabulary (default: 0.1, as in the paper)",
        type=float,
    )
    add("--dropout", "dropout probability (default: 0.1, as in the paper)", type=float)
    both = "number of initial epochs that also train the reverse direction (default: %(default)s)"
    add("--bidirectional", both, type=int, default=0, metavar="EPOCHS")
    mean = "average the weights of the last EPOCHS epochs (default: %(default)s, no averaging)"
    add("--average", mean, type=int, default=1, metavar="EPOCHS")
    add(
        "--save-minutes",
        "longest time between two checkpoints, in minutes (default: %(default)s)",
        type=float,
        default=3.0,
    )
    bpe = "BPE dropout: probability of leaving out a merge of the tokenizer (default: %(default)s)"
    add("--bpe-dropout", bpe, type=float, default=0.0, metavar="P")
    bf16 = "compute matrix products in bfloat16, slow on CPUs that emulate it (default: in float32)"
    add("--bf16", bf16, action=argparse.BooleanOptionalAction)
    fast = "use accelerated modules, whose dropout masks differ (default: on a CPU, but not on CUDA)"
    add("--fast", fast, action=argparse.BooleanOptionalAction)
    add_config_option(command)
    compiled = "compile encoder and decoder with torch.compile (default: do not compile)"
    add("--compile", compiled, action="store_true")
    add("--device", "device to train on (default: cuda if available, otherwise cpu)", choices=DEVICES)
    add("--seed", "random seed, from 0 to 2**32 - 1 (default: %(default)s)", type=int, default=0)


def add_config_option(command: argparse.ArgumentParser) -> None:
    """Add the option for a JSON file."""
    command.add_argument(
        "--config",
        type=path,
        metavar="FILE",
        help="JSON file with fields of TransformerConfig and TrainingConfig, such as "
        '{"model": {"max_length": 512}, "training": {"warmup_steps": 400}}; options override it '
        "(default: no file)",
    )
