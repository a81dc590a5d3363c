"""The options of `translate` that sample translations instead of searching for the best one."""

import argparse
from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.decoding.sampling import Temperature, TopK, TopP
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.seeds import refuse_seed

PROCESSORS: dict[str, Callable[..., Callable[[Tensor], Tensor]]] = {  # in the order of their application
    "temperature": Temperature,
    "top_k": TopK,
    "top_p": TopP,
}


def add_sampling_options(command: argparse.ArgumentParser) -> None:
    """Add the options of sampling."""
    command.add_argument(
        "--sample",
        action="store_true",
        help="sample each translation from the model's distribution (default: search for the best)",
    )
    command.add_argument(
        "--temperature",
        type=float,
        help="with --sample, divide the logits by this; below 1, likely tokens become more likely "
        "(default: 1)",
    )
    command.add_argument(
        "--top-k",
        type=int,
        metavar="TOKENS",
        help="with --sample, choose among this many most likely tokens (default: all)",
    )
    command.add_argument(
        "--top-p",
        type=float,
        metavar="P",
        help="with --sample, choose among the most likely tokens that together have this probability "
        "(default: 1, all)",
    )
    command.add_argument(
        "--seed",
        type=int,
        help="with --sample, random seed, from 0 to 2**32 - 1; samples also depend on --batch-size "
        "(default: 0)",
    )


def check_sampling_options(options: argparse.Namespace) -> None:
    """Refuse options that sampling ignores, and sampling options without `--sample`.

    Raises:
        ValueError: If there are such options.
    """
    given = [name for name in (*PROCESSORS, "seed") if getattr(options, name) is not None]
    if given and not options.sample:
        option = f"--{given[0].replace('_', '-')}"
        raise ValueError(f"{option} has an effect only with --sample; add --sample, or leave {option} out")
    absent = {"nbest": None, "beam": 1, "length_penalty": None, "alpha": None}
    given = [name for name, value in absent.items() if getattr(options, name) != value]
    if given and options.sample:
        option = f"--{given[0].replace('_', '-')}"
        raise ValueError(f"{option} is an option of search, and --sample draws; leave one of them out")


def sampler(options: argparse.Namespace, translator: Translator) -> Callable[[list[str]], list[str]]:
    """Return a function that samples a translation of each text with the given options."""
    values = {name: getattr(options, name) for name in PROCESSORS}
    processors = [PROCESSORS[name](value) for name, value in values.items() if value is not None]
    seed = 0 if options.seed is None else options.seed
    refuse_seed(seed)
    generator = torch.Generator(next(translator.model.parameters()).device).manual_seed(seed)
    return lambda texts: translator.sample(
        texts, generator=generator, logits_processors=processors, batch_size=options.batch_size
    )
