"""The options of beam search and of sampling, and what they describe."""

import argparse
import secrets
from collections.abc import Callable
from typing import TypedDict

import torch
from torch import Tensor

from annotated_transformer.commands.options import option_name
from annotated_transformer.commands.output import log
from annotated_transformer.decoding.length_penalty import GnmtLength, LengthPenalty, PlainLength
from annotated_transformer.decoding.sampling import Temperature, TopK, TopP
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.training.config import refuse_seed

LENGTH_PENALTIES: dict[str, type[GnmtLength | PlainLength]] = {"gnmt": GnmtLength, "plain": PlainLength}
PROCESSORS: dict[str, Callable[..., Callable[[Tensor], Tensor]]] = {  # in the order of their application
    "temperature": Temperature,
    "top_k": TopK,
    "top_p": TopP,
}


class SearchOptions(TypedDict):
    """The arguments of `Translator.translate` that the command line sets."""

    batch_size: int
    beam_size: int
    length_penalty: LengthPenalty | None


def add_search_options(command: argparse.ArgumentParser) -> None:
    """Add the options of beam search, and the number of texts in a batch."""
    command.add_argument(
        "--batch-size",
        type=int,
        default=64,
        metavar="TEXTS",
        help="number of texts that are translated together (default: %(default)s)",
    )
    command.add_argument(
        "--beam",
        type=int,
        default=1,
        help="number of hypotheses in the beam (default: %(default)s, which is greedy search)",
    )
    command.add_argument(
        "--length-penalty",
        choices=LENGTH_PENALTIES,
        help="with --beam, the divisor of a log-probability: gnmt, the penalty of the paper, "
        "((5 + length) / 6) ** alpha; plain, length ** alpha (default: gnmt)",
    )
    command.add_argument(
        "--alpha",
        type=float,
        help="with --beam, exponent of the length penalty (default: 0.6 for gnmt, as in the paper; 1 for "
        "plain)",
    )


def search_options(options: argparse.Namespace) -> SearchOptions:
    """Return the search that the options describe.

    Raises:
        ValueError: If greedy search would ignore an option.
    """
    given = [name for name in ("length_penalty", "alpha") if getattr(options, name) is not None]
    greedy = options.beam == 1 and getattr(options, "nbest", None) is None
    if given and greedy:
        option = option_name(given[0])
        raise ValueError(
            f"{option} has an effect only on beam search; give --beam 2 or more, or leave {option} out"
        )
    penalty: LengthPenalty | None = None
    if not greedy:
        kind = LENGTH_PENALTIES[options.length_penalty or "gnmt"]
        penalty = kind() if options.alpha is None else kind(options.alpha)
    return {"batch_size": options.batch_size, "beam_size": options.beam, "length_penalty": penalty}


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
        "(default: a new one each time, which is printed on stderr)",
    )


def check_sampling_options(options: argparse.Namespace) -> None:
    """Refuse options that sampling ignores, and sampling options without `--sample`.

    Raises:
        ValueError: If there are such options.
    """
    given = [name for name in (*PROCESSORS, "seed") if getattr(options, name) is not None]
    if given and not options.sample:
        option = option_name(given[0])
        raise ValueError(f"{option} has an effect only with --sample; add --sample, or leave {option} out")
    absent = {"nbest": None, "beam": 1, "length_penalty": None, "alpha": None}
    given = [name for name, value in absent.items() if getattr(options, name) != value]
    if given and options.sample:
        option = option_name(given[0])
        raise ValueError(f"{option} is an option of search, and --sample draws; leave one of them out")


def sampler(options: argparse.Namespace, translator: Translator) -> Callable[[list[str]], list[str]]:
    """Return a function that samples a translation of each text with the given options.

    If no seed is given, a new one is chosen and logged, so that it can be given the next time.
    """
    values = {name: getattr(options, name) for name in PROCESSORS}
    processors = [PROCESSORS[name](value) for name, value in values.items() if value is not None]
    generator = torch.Generator(next(translator.model.parameters()).device)
    if options.seed is None:
        generator.manual_seed(secrets.randbits(32))
        log(f"these samples are drawn with --seed {generator.initial_seed()}")
    else:
        refuse_seed(options.seed)
        generator.manual_seed(options.seed)
    return lambda texts: translator.sample(
        texts, generator=generator, logits_processors=processors, batch_size=options.batch_size
    )
