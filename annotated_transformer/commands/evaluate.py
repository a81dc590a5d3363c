"""`evaluate`: compute BLEU and other metrics of a model on a split, or of translations in a file."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from annotated_transformer.commands.options import option_name, take_languages
from annotated_transformer.commands.output import check_input_file, print_line, write_lines
from annotated_transformer.evaluation import bleu
from annotated_transformer.evaluation.metrics import METRICS, Measure, Score
from annotated_transformer.text.lines import read_lines
from annotated_transformer.text.moses import check_language


def evaluate_command(options: argparse.Namespace) -> None:
    """Print the metrics of a model's translations of a split, or of translations in a file.

    Each metric is followed by the signature of its computation.
    """
    if options.hypotheses is not None or options.references is not None:
        _evaluate_files(options)
    else:
        _evaluate_split(options)


def _evaluate_split(options: argparse.Namespace) -> None:
    """Print the metrics of a model's translations of a split."""
    # They import PyTorch, which takes seconds, and comparing files needs none.
    from annotated_transformer.commands.evaluate_split import check_output, read_split, translate_split
    from annotated_transformer.commands.loading import known_languages

    languages = take_languages(options, known_languages(options))
    check_output(options)
    measures = _measures(options, languages.target)
    texts, references = map(list, zip(*read_split(options), strict=True))
    hypotheses = translate_split(options, texts)
    if options.output is not None:
        write_lines(options.output, hypotheses)
    _print_scores(measures, hypotheses, references)


def _evaluate_files(options: argparse.Namespace) -> None:
    """Print the metrics of the hypotheses in a file."""
    for given, missing in (("hypotheses", "references"), ("references", "hypotheses")):
        if getattr(options, missing) is None:
            raise ValueError(f"--{given} is given without --{missing}; give both")
    _refuse_options_without_effect(options)
    files: list[Path] = options.references
    for option, file in (("--hypotheses", options.hypotheses), *(("--references", file) for file in files)):
        check_input_file(option, file)
    measures = _measures(options, take_languages(options).target)
    hypotheses, *references = [
        [line.strip() for line in read_lines(file)] for file in (options.hypotheses, *files)
    ]
    for file, lines in zip(files, references, strict=True):
        if len(lines) != len(hypotheses):
            raise ValueError(
                f"{options.hypotheses} has {len(hypotheses)} lines and {file} has {len(lines)}; line i of "
                f"one must be a reference for line i of the other"
            )
    _print_scores(measures, hypotheses, *references)


def _refuse_options_without_effect(options: argparse.Namespace) -> None:
    """Refuse options that describe a model, a corpus, or a search, where only files are compared."""
    names = ["beam", "length_penalty", "alpha", "model", "pretrained"]
    names += ["device", "fast", "corpus", "data", "split", "output", "columns"]
    names += [name for name in vars(options) if name.startswith(("train_", "valid_", "test_"))]
    given = [name for name in names if getattr(options, name) is not None]
    if given:
        option = option_name(given[0])
        raise ValueError(
            f"{option} has no effect on --hypotheses, which are translated already; leave one of them out"
        )


def _print_scores(measures: list[Measure], hypotheses: list[str], *references: list[str]) -> None:
    for measure in measures:
        score = measure(hypotheses, *references)
        print_line(f"{score.name} = {score.value:.2f}")
        print_line(score.signature)


def _measures(options: argparse.Namespace, language: str) -> list[Measure]:
    """Return the functions that compute the metrics, before anything is translated.

    Raises:
        ValueError: If an option has no effect, or if a language or a tokenizer cannot be used.
    """
    names: tuple[str, ...] = options.metric or ("bleu",)
    if "bleu" not in names:
        for option, is_given in {
            "--bleu-tokenizer": options.bleu_tokenizer is not None,
            "--protocol": options.protocol != "sacrebleu",
        }.items():
            if is_given:
                raise ValueError(
                    f"{option} has an effect only on BLEU; add bleu to --metric, or leave it out"
                )
    measures: dict[str, Callable[[str], Measure]] = {"bleu": partial(_bleu, options), **METRICS}
    return [measures[name](language) for name in names]


def _bleu(options: argparse.Namespace, language: str) -> Measure:
    protocol, tokenizer = options.protocol, options.bleu_tokenizer
    if protocol == "multi30k":
        if tokenizer is not None:
            raise ValueError(
                f"--protocol multi30k tokenizes by Moses, not by --bleu-tokenizer {tokenizer}; leave one out"
            )
        if len(options.references or ()) > 1:
            raise ValueError(
                f"--protocol multi30k takes one reference, not {len(options.references)}; give one file"
            )
        check_language(language)
        return _named(partial(bleu.multi30k_bleu, language=language))
    tokenizer = bleu.tokenizer_for(language) if tokenizer is None else tokenizer
    bleu.bleu_metric(tokenizer)  # it refuses a tokenizer that cannot be used
    return _named(partial(bleu.sacrebleu, tokenizer=tokenizer))


def _named(compute: Callable[..., bleu.BleuScore]) -> Measure:
    def measure(hypotheses: list[str], *references: list[str]) -> Score:
        score = compute(hypotheses, *references)
        return Score("BLEU", score.bleu, score.signature)

    return measure
