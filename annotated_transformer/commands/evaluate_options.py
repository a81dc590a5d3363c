"""The options of `evaluate`, and its help."""

import argparse

from annotated_transformer.commands.decoding_options import add_search_options
from annotated_transformer.commands.options import (
    add_corpus_options,
    add_model_options,
    describe_command,
    path,
)

METRIC_NAMES = ("bleu", "chrf", "chrf++", "ter")
PROTOCOLS = ("sacrebleu", "multi30k")


def add_evaluate_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `evaluate`."""
    describe_command(
        command,
        "Translate a split of a corpus and compare the translations with the references, or compare files "
        "that exist. Each metric is printed with the signature of its computation.",
        "--model my_model --data data --split test",
        "--model my_model --test-source a.txt --test-target b.txt \\\n"
        "      --metric bleu,chrf,ter --output found.txt",
        "--hypotheses found.txt --references b.txt --metric chrf",
    )
    metrics = command.add_argument_group("metrics")
    metrics.add_argument(
        "--metric",
        type=metric_names,
        metavar="NAMES",
        help=f"what to compute, separated by commas: {', '.join(METRIC_NAMES)}; less is better for ter, "
        "which is slower than the others (default: bleu)",
    )
    metrics.add_argument(
        "--protocol",
        choices=PROTOCOLS,
        default="sacrebleu",
        help="how to compute BLEU; multi30k: lowercased and tokenized by Moses (default: %(default)s)",
    )
    metrics.add_argument(
        "--bleu-tokenizer",
        metavar="NAME",
        help="tokenizer of sacreBLEU, such as 13a, zh, ja-mecab, ko-mecab, or char (default: the one "
        "for the target language)",
    )
    add_corpus_options(
        command,
        splits=("train", "valid", "test"),
        languages=("that of the model, otherwise en", "that of the model, otherwise de"),
    )
    command.add_argument_group("split").add_argument(
        "--split", help="split to translate, such as test_2016_flickr (default: test)"
    )
    add_model_options(command, default="the one for --source and --target")
    add_search_options(command)
    files = command.add_argument_group("files of translations")
    files.add_argument(
        "--output",
        type=path,
        metavar="FILE",
        help="file to write the translations to, one per line, for other metrics; compressed by gzip if its "
        "name ends in .gz; an older one is replaced (default: none)",
    )
    files.add_argument(
        "--hypotheses",
        type=path,
        metavar="FILE",
        help="file with translations to evaluate, one per line (default: translate a split with a model)",
    )
    files.add_argument(
        "--references",
        type=path,
        nargs="+",
        metavar="FILE",
        help="with --hypotheses, file with a reference on each line, or several such files (default: those "
        "of the split)",
    )


def metric_names(text: str) -> tuple[str, ...]:
    """Return the names of metrics in a list separated by commas, each once.

    Raises:
        argparse.ArgumentTypeError: If there is none, or an unknown one.
    """
    names = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",")))
    if unknown := [name for name in names if name not in METRIC_NAMES]:
        raise argparse.ArgumentTypeError(
            f"{unknown[0]!r} is not a metric; choose from {', '.join(METRIC_NAMES)}, separated by commas"
        )
    return names
