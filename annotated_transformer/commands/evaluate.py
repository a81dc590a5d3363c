"""`evaluate`: compute BLEU and other metrics of a model on a split, or of translations in a file."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tqdm import tqdm

from annotated_transformer.commands.decoding import SearchOptions, search_options
from annotated_transformer.commands.evaluate_options import METRICS
from annotated_transformer.commands.loading import (
    describe_device,
    known_languages,
    load_translator,
    own_files,
    read_corpus,
    take_languages,
)
from annotated_transformer.commands.options import option_name
from annotated_transformer.commands.output import (
    check_input_file,
    check_output_file,
    log,
    one_line,
    print_line,
    write_lines,
)
from annotated_transformer.evaluation import bleu
from annotated_transformer.evaluation.metrics import Score, chrf, ter
from annotated_transformer.text.corpus import corpus_folder
from annotated_transformer.text.lines import list_problems, read_lines
from annotated_transformer.text.moses import check_language
from annotated_transformer.text.sentence_pairs import SentencePair, read_pairs, split_files, split_names

TOGETHER = 4  # batches of texts sorted by length and translated per update of the progress bar

Measure = Callable[..., Score]
"""Returns the score of hypotheses, given one or several lists of references."""


def evaluate_command(options: argparse.Namespace) -> None:
    """Print the metrics of a model's translations of a split, or of translations in a file.

    Each metric is followed by the signature of its computation.
    """
    if options.hypotheses is not None or options.references is not None:
        _evaluate_files(options)
        return
    languages = take_languages(options, known_languages(options))
    _check_output(options)
    measures = _measures(options, languages.target)
    pairs, search = _read_split(options), search_options(options)
    texts, references = map(list, zip(*pairs, strict=True))
    hypotheses = _translate(options, texts, search)
    if options.output is not None:
        write_lines(options.output, hypotheses)
    _print_scores(measures, hypotheses, references)


def _check_output(options: argparse.Namespace) -> None:
    """Refuse an `--output` that cannot be written, or that would replace a file of the corpus."""
    if options.output is None:
        return
    check_output_file("--output", options.output)
    files = [file for place in own_files(options).values() for file in place.files]
    if not files and options.corpus in (None, "files"):
        files = split_files(corpus_folder("files", options.data), options.source, options.target)
    if options.output.exists() and any(options.output.samefile(file) for file in files):
        raise ValueError(f"--output {options.output} would replace a file of the corpus; give another name")


def _translate(options: argparse.Namespace, texts: list[str], search: SearchOptions) -> list[str]:
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
    names += ["device", "corpus", "data", "split", "output", "columns"]
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


def _split(options: argparse.Namespace) -> str:
    return options.split or "test"


def _read_split(options: argparse.Namespace) -> list[SentencePair]:
    split, languages = _split(options), {"source": options.source, "target": options.target}
    files = own_files(options)
    if split in files and list(files) != ["train"]:
        return files[split].read()
    if not files and options.corpus in (None, "files"):  # the split `train` may be missing
        folder = corpus_folder("files", options.data)
        if split_names(folder, **languages) != ["train"]:
            return read_pairs(folder, split, **languages)
    corpus = read_corpus(options)
    if split not in corpus.splits:
        raise ValueError(f"{corpus.name} has no split {split!r}; choose from {', '.join(corpus.splits)}")
    log(corpus.summary())
    return corpus.splits[split]


def _measures(options: argparse.Namespace, language: str) -> list[Measure]:
    """Return the functions that compute the metrics, before anything is translated.

    Raises:
        ValueError: If an option has no effect, or if a language or a tokenizer cannot be used.
    """
    names: tuple[str, ...] = options.metric or METRICS[:1]
    if "bleu" not in names:
        for option, is_given in {
            "--bleu-tokenizer": options.bleu_tokenizer is not None,
            "--protocol": options.protocol != "sacrebleu",
        }.items():
            if is_given:
                raise ValueError(
                    f"{option} has an effect only on BLEU; add bleu to --metric, or leave it out"
                )
    measures: dict[str, Callable[[], Measure]] = {
        "bleu": lambda: _bleu(options, language),
        "chrf": lambda: chrf,
        "chrf++": lambda: partial(chrf, word_order=2),
        "ter": lambda: partial(ter, language=language),
    }
    return [measures[name]() for name in names]


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
