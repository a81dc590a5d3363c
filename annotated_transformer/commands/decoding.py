"""The search and the sampling that the options describe."""

import argparse
import secrets
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

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


def search_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the search that the options describe, as arguments of `Translator.translate` or `nbest`."""
    penalty: LengthPenalty | None = None
    if options.beam not in (None, 1) or getattr(options, "nbest", None) is not None:
        kind = LENGTH_PENALTIES[options.length_penalty or "gnmt"]
        penalty = kind() if options.alpha is None else kind(options.alpha)
    beam = {} if options.beam is None else {"beam_size": options.beam}  # without it, each has its own
    return {"batch_size": options.batch_size, "length_penalty": penalty, **beam}


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
