"""The model that the options name, and the search and the sampling that they describe."""

import argparse
import secrets
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.checkpointing.checkpoint import pretrained_folder, read_languages
from annotated_transformer.commands.output import log
from annotated_transformer.decoding.greedy import length_limits
from annotated_transformer.decoding.length_penalty import GnmtLength, LengthPenalty, PlainLength
from annotated_transformer.decoding.sampling import Temperature, TopK, TopP
from annotated_transformer.decoding.translations import is_complete
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.devices import take_device
from annotated_transformer.text.sentence_pairs import Languages
from annotated_transformer.training.config import refuse_seed

CUT_OFF = "give shorter sentences, or search with --beam 4 if it repeats itself"
LENGTH_PENALTIES: dict[str, type[GnmtLength | PlainLength]] = {"gnmt": GnmtLength, "plain": PlainLength}
PROCESSORS: dict[str, Callable[..., Callable[[Tensor], Tensor]]] = {  # in the order of their application
    "temperature": Temperature,
    "top_k": TopK,
    "top_p": TopP,
}


def load_translator(options: argparse.Namespace, *, default: str) -> Translator:
    """Return a translator on its device, with the model that the options name or the package's `default`."""
    device = take_device("cpu" if getattr(options, "engine", None) else options.device)
    if options.model is not None:
        return Translator.from_folder(options.model, device=device, fast=options.fast)
    return Translator.from_pretrained(options.pretrained or default, device=device, fast=options.fast)


def known_languages(options: argparse.Namespace, *, default: str | None = None) -> Languages | None:
    """Return the languages of the model that the options name, or None if it is not there or has none.

    Without such options, it is the package's model `default`, if there is one.
    """
    name = options.pretrained or default
    folder = options.model or (pretrained_folder(name) if name else None)
    if not (folder and folder.is_dir() and (known := read_languages(folder))):
        return None
    for side, language in known._asdict().items():
        if (asked := getattr(options, side, None)) not in (None, language):
            raise ValueError(
                f"--{side} {asked}, but the model {options.model or name} translates from {known.source} to "
                f"{known.target}; leave --{side} out, or give another model"
            )
    return known


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
    seed = secrets.randbits(32) if options.seed is None else options.seed
    refuse_seed(seed)
    if options.seed is None:
        log(f"these samples are drawn with --seed {seed}")
    order = torch.Generator().manual_seed(seed)

    def sample(texts: list[str]) -> list[str]:
        seeds = torch.randint(2**62, (len(texts),), generator=order).tolist()  # each text its own
        return translator.sample(
            texts,
            generator=[torch.Generator(translator.device).manual_seed(seed) for seed in seeds],
            logits_processors=processors,
            batch_size=options.batch_size,
            split=False,
        )

    return sample


def cut_off(texts: list[str], translations: Iterable[list[str]]) -> list[str]:
    """Return the texts of which a translation was cut off at its limit."""
    pairs = zip(texts, translations, strict=True)
    return [text for text, of_text in pairs if not all(map(is_complete, of_text))]


def describe_cut_off(translator: Translator, text: str) -> str:
    """Return what a warning says of such a text, with the limit and a way out."""
    (ids,) = translator.encode([text]).ids
    limit = int(length_limits(torch.tensor([ids]), translator.model.config))
    return f"the translation of {text[:40]!r} was cut off at its limit, {limit} tokens; {CUT_OFF}"
