"""The split that `evaluate` translates with a model. Nothing that only compares files imports this module."""

import argparse

from tqdm import tqdm

from annotated_transformer.commands.decoding import search_options
from annotated_transformer.commands.loading import (
    describe_device,
    load_translator,
    own_files,
    read_corpus,
)
from annotated_transformer.commands.output import check_output_file, log, one_line
from annotated_transformer.text.corpus import CORPORA, OWN_FILES, corpus_folder
from annotated_transformer.text.lines import list_problems
from annotated_transformer.text.sentence_pairs import SentencePair, read_pairs, split_files, split_names

TOGETHER = 4  # batches of texts sorted by length and translated per update of the progress bar


def check_output(options: argparse.Namespace) -> None:
    """Refuse an `--output` that cannot be written, or that would replace a file of the corpus."""
    if options.output is None:
        return
    check_output_file("--output", options.output)
    files = [file for place in own_files(options).values() for file in place.files]
    name = options.corpus or OWN_FILES
    if not files and CORPORA[name].needs_folder:
        folder = corpus_folder(name, options.data)
        files = split_files(folder, options.source, options.target)
        files += [folder / file for file in CORPORA[name].files]
    if options.output.exists() and any(file.exists() and options.output.samefile(file) for file in files):
        raise ValueError(f"--output {options.output} would replace a file of the corpus; give another name")


def _split(options: argparse.Namespace) -> str:
    return options.split or "test"


def read_split(options: argparse.Namespace) -> list[SentencePair]:
    """Return the sentence pairs of the split that the options name, `test` by default.

    Raises:
        ValueError: If there is no such split, or if an option has no effect.
        FileNotFoundError: If a file is missing.
    """
    split, languages = _split(options), {"source": options.source, "target": options.target}
    files = own_files(options)
    if split in files and list(files) != ["train"]:
        return files[split].read()
    name = options.corpus or OWN_FILES
    if not files and CORPORA[name].languages is None:  # the user's files, of which `train` may be missing
        folder = corpus_folder(name, options.data)
        if split_names(folder, **languages) != ["train"]:
            return read_pairs(folder, split, **languages)
    corpus = read_corpus(options)
    if split not in corpus.splits:
        raise ValueError(f"{corpus.name} has no split {split!r}; choose from {', '.join(corpus.splits)}")
    log(corpus.summary())
    return corpus.splits[split]


def translate_split(options: argparse.Namespace, texts: list[str]) -> list[str]:
    """Return a translation of each text of the split, in the same order.

    Raises:
        ValueError: If an option has no effect, or if a text cannot be translated.
    """
    search = search_options(options)
    translator = load_translator(options, default=f"{options.source}-{options.target}")
    problems = translator.encode(texts).problems
    if problems:
        listed = [f"pair {index + 1} of {_split(options)} {problems[index]}" for index in sorted(problems)]
        raise ValueError(list_problems(listed, "or remove these pairs"))
    log(f"Translating on {describe_device(translator.device)}.")
    together = TOGETHER * max(search["batch_size"], 1)
    hypotheses: list[str] = []
    with tqdm(total=len(texts), unit=" texts", disable=None) as bar:
        for start in range(0, len(texts), together):
            translated = translator.translate(texts[start : start + together], **search)
            hypotheses += map(one_line, translated)
            bar.update(len(hypotheses) - bar.n)
    return hypotheses
