"""The search and the sampling that the options of `decoding_options` describe."""

import argparse
import secrets
from collections.abc import Callable
from typing import NotRequired, TypedDict

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
    """The arguments of `Translator.translate` or `Translator.nbest` that the command line sets."""

    batch_size: int
    beam_size: NotRequired[int]  # without it, each of the two chooses its own
    length_penalty: LengthPenalty | None


def search_options(options: argparse.Namespace) -> SearchOptions:
    """Return the search that the options describe.

    Raises:
        ValueError: If greedy search would ignore an option.
    """
    given = [name for name in ("length_penalty", "alpha") if getattr(options, name) is not None]
    greedy = options.beam in (None, 1) and getattr(options, "nbest", None) is None
    if given and greedy:
        option = option_name(given[0])
        raise ValueError(
            f"{option} has an effect only on beam search; give --beam 2 or more, or leave {option} out"
        )
    penalty: LengthPenalty | None = None
    if not greedy:
        kind = LENGTH_PENALTIES[options.length_penalty or "gnmt"]
        penalty = kind() if options.alpha is None else kind(options.alpha)
    search: SearchOptions = {"batch_size": options.batch_size, "length_penalty": penalty}
    return search if options.beam is None else {**search, "beam_size": options.beam}


def check_sampling_options(options: argparse.Namespace) -> None:
    """Refuse options that sampling ignores, and sampling options without `--sample`.

    Raises:
        ValueError: If there are such options.
    """
    given = [name for name in (*PROCESSORS, "seed") if getattr(options, name) is not None]
    if given and not options.sample:
        option = option_name(given[0])
        raise ValueError(f"{option} has an effect only with --sample; add --sample, or leave {option} out")
    given = [
        name for name in ("nbest", "beam", "length_penalty", "alpha") if getattr(options, name) is not None
    ]
    if given and options.sample:
        option = option_name(given[0])
        raise ValueError(f"{option} is an option of search, and --sample draws; leave one of them out")


def sampler(options: argparse.Namespace, translator: Translator) -> Callable[[list[str]], list[str]]:
    """Return a function that samples a translation of each text with the given options.

    If no seed is given, a new one is chosen and logged, so that it can be given the next time.
    """
    values = {name: getattr(options, name) for name in PROCESSORS}
    processors = [PROCESSORS[name](value) for name, value in values.items() if value is not None]
    generator = torch.Generator(translator.device)
    if options.seed is None:
        generator.manual_seed(secrets.randbits(32))
        log(f"these samples are drawn with --seed {generator.initial_seed()}")
    else:
        refuse_seed(options.seed)
        generator.manual_seed(options.seed)
    return lambda texts: translator.sample(
        texts, generator=generator, logits_processors=processors, batch_size=options.batch_size
    )
