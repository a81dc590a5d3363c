"""`evaluate`: its options, and `evaluate_command`, whose work is in `running/evaluate.py`."""

import argparse
from pathlib import Path
from typing import Annotated, Literal

from annotated_transformer.commands.arguments import Group, Option
from annotated_transformer.commands.options.corpus import TABLES, CorpusOptions, OwnFileOptions
from annotated_transformer.commands.options.decoding import ModelOptions, SearchOptions
from annotated_transformer.commands.options.process import ProcessOptions

UNUSED = (  # by translations that exist
    *("model", "pretrained", "device", "fast", "beam", "corpus", "data", "split", "output"),
    *("train_source", "valid_source", "test_source", *TABLES),
)


class MetricOptions:
    """Metrics and files.

    Attributes:
        metric: What to compute, separated by commas: bleu, chrf, chrf++, ter; less is better for ter, which
            is slower than the others.
        protocol: How to compute BLEU; multi30k: lowercased and tokenized by Moses.
        bleu_tokenizer: Tokenizer of sacreBLEU, such as 13a, zh, ja-mecab, ko-mecab, or char; `None` means the
            one for the target language.
        split: Split to translate, such as test_2016_flickr; `None` means test.
        output: File to write the translations to, one per line, for other metrics; compressed by gzip if its
            name ends in .gz; an older one is replaced; `None` means none.
        hypotheses: File with translations to evaluate, one per line; `None` means to translate a split with a
            model.
        references: File with a reference for each hypothesis, one per line, or several such files; `None`
            means those of the split.
    """

    metric: str = "bleu"
    protocol: Literal["sacrebleu", "multi30k"] = "sacrebleu"
    bleu_tokenizer: str | None = None
    split: str | None = None
    output: Annotated[Path | None, Option(file="write")] = None
    hypotheses: Annotated[Path | None, Option(file="read", only_with=("references",), not_with=UNUSED)] = None
    references: Annotated[tuple[Path, ...] | None, Option(file="read", only_with=("hypotheses",))] = None


DESCRIPTION = (
    "Translate a split of a corpus and compare the translations with the references, or compare files "
    "that exist. Each metric is printed with the signature of its computation."
)
EXAMPLES = (
    "--model my_model --data data --split test",
    "--model my_model --test-source a.txt --test-target b.txt \\\n"
    "      --metric bleu,chrf,ter --output found.txt",
    "--hypotheses found.txt --references b.txt --metric chrf",
)
GROUPS = tuple(
    map(Group, (MetricOptions, CorpusOptions, OwnFileOptions, ModelOptions, SearchOptions, ProcessOptions))
)


def evaluate_command(options: argparse.Namespace) -> None:
    """Print the metrics of a model's translations of a split, or of translations in a file."""
    from annotated_transformer.commands.running.evaluate import evaluate_translations  # slow to import

    evaluate_translations(options)
