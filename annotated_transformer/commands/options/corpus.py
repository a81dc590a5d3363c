"""Where a corpus is, and in which languages; the functions below read it."""

import argparse
from pathlib import Path
from typing import Annotated

from annotated_transformer.commands.arguments import Option
from annotated_transformer.text.corpus import CORPORA, OWN_FILES, Corpus, load_corpus, load_files
from annotated_transformer.text.pair_files import PairFiles, Table, TwoFiles
from annotated_transformer.text.sentence_pairs import Languages

LANGUAGES = Languages("en", "de")  # the default
TABLES = ("train_tsv", "valid_tsv", "test_tsv")


class CorpusOptions:
    """Corpus.

    Attributes:
        corpus: Name of the corpus; `None` means files.
        data: Folder of the corpus, or its parent; for files, it contains SPLIT.LANGUAGE or
            SPLIT.LANGUAGE.gz, such as train.en; if train is the only split, val and test are split off,
            about 5% of the pairs each; if there are others, the validation loss is that of val, valid,
            validation or dev; `None` means the environment variable ANNOTATED_TRANSFORMER_DATA.
        source: Code of the language to translate from; `None` means that of the model to evaluate, or en.
        target: Code of the language to translate into; `None` means that of the model to evaluate, or de.
    """

    corpus: Annotated[str | None, Option(choices=CORPORA, not_with=("train_source", "train_tsv"))] = None
    data: Annotated[Path | None, Option(not_with=("train_source", "train_tsv"))] = None
    source: str | None = None
    target: str | None = None


class OwnFileOptions:
    """Your own files, under any names.

    They replace --corpus and --data. Each may be compressed by gzip. Line i of a target file is the
    translation of line i of the source file; a TSV file has both, with a tab between its columns.

    Attributes:
        train_source: Source file of the split train; `None` means none.
        train_target: Target file of the split train; `None` means none.
        train_tsv: TSV file of the split train; `None` means none.
        valid_source: Source file of the split valid; `None` means none.
        valid_target: Target file of the split valid; `None` means none.
        valid_tsv: TSV file of the split valid; `None` means none.
        test_source: Source file of the split test; `None` means none.
        test_target: Target file of the split test; `None` means none.
        test_tsv: TSV file of the split test; `None` means none.
        columns: SOURCE,TARGET: columns of the TSV files, as numbers that count from 1, or as names in their
            first line; `None` means 1,2.
    """

    train_source: Annotated[Path | None, Option(file="read", only_with=("train_target",))] = None
    train_target: Annotated[Path | None, Option(file="read", only_with=("train_source",))] = None
    train_tsv: Annotated[Path | None, Option(file="read", not_with=("train_source",))] = None
    valid_source: Annotated[Path | None, Option(file="read", only_with=("valid_target",))] = None
    valid_target: Annotated[Path | None, Option(file="read", only_with=("valid_source",))] = None
    valid_tsv: Annotated[Path | None, Option(file="read", not_with=("valid_source",))] = None
    test_source: Annotated[Path | None, Option(file="read", only_with=("test_target",))] = None
    test_target: Annotated[Path | None, Option(file="read", only_with=("test_source",))] = None
    test_tsv: Annotated[Path | None, Option(file="read", not_with=("test_source",))] = None
    columns: Annotated[str | None, Option(only_with=TABLES)] = None


def read_corpus(options: argparse.Namespace) -> Corpus:
    """Return the corpus that the options describe; its languages are those of `chosen_languages`."""
    files, languages = own_files(options), chosen_languages(options)
    if languages is not None and not files:
        return load_corpus(options.corpus or OWN_FILES, folder=options.data, **languages._asdict())
    return load_files(files, languages=languages)


def chosen_languages(options: argparse.Namespace) -> Languages | None:
    """Return the languages of `--source` and `--target`, or those of the corpus, or the defaults.

    Files that options name one by one may be in any languages, so their languages are known only if both
    are given.
    """
    if None in (options.source, options.target) and own_files(options):
        return None
    defaults = CORPORA[options.corpus or OWN_FILES].languages or LANGUAGES
    return Languages(options.source or defaults.source, options.target or defaults.target)


def own_files(options: argparse.Namespace) -> dict[str, PairFiles]:
    """Return the user's own files of each split; the dictionary is empty if no option names any."""
    files: dict[str, PairFiles] = {}
    for split in [name.removesuffix("_tsv") for name in vars(options) if name.endswith("_tsv")]:
        source, target, table = (getattr(options, f"{split}_{side}") for side in ("source", "target", "tsv"))
        if table:
            files[split] = Table(table, _columns(options.columns))
        elif source:
            if source.samefile(target):
                raise ValueError(f"--{split}-source and --{split}-target are both {source}; give two files")
            files[split] = TwoFiles(source, target)
    return files


def _columns(text: str | None) -> tuple[int | str, int | str]:
    names = [name.strip() for name in (text or "1,2").split(",")]
    if len(names) != 2 or not all(names):
        raise ValueError(f"--columns {text} are not two columns; give two, such as 1,2 or en,de")
    first, second = (int(name) if name.isdecimal() else name for name in names)
    return first, second
