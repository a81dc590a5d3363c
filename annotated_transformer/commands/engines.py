"""Engines by name: the only place that turns the value of `--engine` into an object."""

import argparse

from annotated_transformer.commands.translate_options import ENGINE_DTYPES
from annotated_transformer.decoding.translator import Translator


def check_engine_options(options: argparse.Namespace) -> None:
    """Refuse options that an engine ignores, and options of engines without `--engine`.

    Raises:
        ValueError: If there are such options.
    """
    if options.engine is None:
        if options.engine_dtype is not None:
            raise ValueError("--engine-dtype has an effect only with --engine; add it, or leave it out")
        return
    if options.sample:
        raise ValueError(f"--engine {options.engine} searches, and --sample draws; leave one of them out")
    if options.fast:
        raise ValueError(
            f"--engine {options.engine} and --fast both say how to decode; leave one of them out"
        )
    if options.device == "cuda":
        raise ValueError(
            f"--engine {options.engine} computes on the CPU, and --device is cuda; leave one of them out"
        )
    options.device = "cpu"


def with_engine(options: argparse.Namespace, translator: Translator) -> Translator:
    """Return the translator, with the engine that the options name if they name one.

    Raises:
        ValueError: If the engine's library is not installed.
    """
    if options.engine is None:
        return translator
    from annotated_transformer.interop.ctranslate2 import CTranslate2Engine

    model, tokenizer = translator.model, translator.tokenizer
    dtype = options.engine_dtype or ENGINE_DTYPES[0]
    try:
        engine = CTranslate2Engine.from_model(model, dtype=dtype)
    except ModuleNotFoundError as error:
        raise ValueError(str(error)) from error
    return Translator(model, tokenizer, engine=engine, languages=translator.languages)
