"""The work of `evaluate`: compute metrics of a model on a split, or of translations in a file."""

import argparse
import gzip
from collections.abc import Callable
from functools import partial

from tqdm import tqdm

from annotated_transformer.commands.options.corpus import LANGUAGES, own_files, read_corpus
from annotated_transformer.commands.output import log, one_line, print_line, write_file
from annotated_transformer.evaluation import bleu
from annotated_transformer.evaluation.metrics import METRICS, Measure, Score
from annotated_transformer.text.corpus import CORPORA, OWN_FILES, corpus_folder
from annotated_transformer.text.lines import list_problems, read_lines
from annotated_transformer.text.moses import check_language
from annotated_transformer.text.sentence_pairs import SentencePair, read_pairs, split_files, split_names

TOGETHER = 4  # batches of texts sorted by length and translated per update of the progress bar


def evaluate_translations(options: argparse.Namespace) -> None:
    """Print the metrics of a model's translations of a split, or of translations in a file."""
    evaluate = _evaluate_split if options.hypotheses is None else _evaluate_files
    measures, hypotheses, references = evaluate(options)
    for measure in measures:
        score = measure(hypotheses, *references)
        print_line(f"{score.name} = {score.value:.2f}")
        print_line(score.signature)


def _evaluate_files(options: argparse.Namespace) -> tuple[list[Measure], list[str], list[list[str]]]:
    measures = _measures(options, options.target or "de")
    hypotheses, *references = [
        [line.strip() for line in read_lines(file)] for file in (options.hypotheses, *options.references)
    ]
    for file, lines in zip(options.references, references, strict=True):
        if len(lines) != len(hypotheses):
            raise ValueError(
                f"{options.hypotheses} has {len(hypotheses)} lines and {file} has {len(lines)}; line i of "
                f"one must be a reference for line i of the other"
            )
    return measures, hypotheses, references


def _evaluate_split(options: argparse.Namespace) -> tuple[list[Measure], list[str], list[list[str]]]:
    # It imports PyTorch, which takes seconds, and comparing files needs none.
    from annotated_transformer.commands.running.decoding import known_languages

    known = known_languages(options) or LANGUAGES
    options.source, options.target = options.source or known.source, options.target or known.target
    _refuse_to_replace(options)
    measures = _measures(options, options.target)
    texts, references = map(list, zip(*_read_split(options), strict=True))
    hypotheses = _translate_split(options, texts)
    if options.output is not None:
        data = "".join(f"{line}\n" for line in hypotheses).encode()
        write_file(options.output, gzip.compress(data, mtime=0) if options.output.suffix == ".gz" else data)
    return measures, hypotheses, [references]


def _refuse_to_replace(options: argparse.Namespace) -> None:
    """Refuse an `--output` that would replace a file of the corpus."""
    if options.output is None or not options.output.exists():
        return
    files = [file for place in own_files(options).values() for file in place.files]
    name = options.corpus or OWN_FILES
    if not files and CORPORA[name].needs_folder:
        folder = corpus_folder(name, options.data)
        files = split_files(folder, options.source, options.target)
        files += [folder / file for file in CORPORA[name].files]
    if any(file.exists() and options.output.samefile(file) for file in files):
        raise ValueError(f"--output {options.output} would replace a file of the corpus; give another name")


def _read_split(options: argparse.Namespace) -> list[SentencePair]:
    """Return the sentence pairs of the split that the options name, `test` by default."""
    split, files, name = options.split or "test", own_files(options), options.corpus or OWN_FILES
    if split in files and list(files) != ["train"]:
        return files[split].read()
    if not files and CORPORA[name].languages is None:  # the user's files, of which `train` may be missing
        folder = corpus_folder(name, options.data)
        languages = {"source": options.source, "target": options.target}
        if split_names(folder, **languages) != ["train"]:
            return read_pairs(folder, split, **languages)
    corpus = read_corpus(options)
    if split not in corpus.splits:
        raise ValueError(f"{corpus.name} has no split {split!r}; choose from {', '.join(corpus.splits)}")
    log(corpus.summary())
    return corpus.splits[split]


def _translate_split(options: argparse.Namespace, texts: list[str]) -> list[str]:
    from annotated_transformer.commands.running.decoding import (
        cut_off,
        describe_cut_off,
        load_translator,
        search_settings,
    )
    from annotated_transformer.devices import describe_device

    search = search_settings(options)
    translator = load_translator(options, default=f"{options.source}-{options.target}")
    problems = translator.encode(texts).problems
    if problems:
        listed = [f"pair {at + 1} of {options.split or 'test'} {problems[at]}" for at in sorted(problems)]
        raise ValueError(list_problems(listed, "or remove these pairs"))
    log(f"Translating on {describe_device(translator.device)}.")
    together = TOGETHER * max(options.batch_size, 1)
    hypotheses: list[str] = []
    shortened: list[str] = []
    with tqdm(total=len(texts), unit=" texts", disable=None) as bar:
        for start in range(0, len(texts), together):
            group = texts[start : start + together]
            translated = translator.translate(group, split=False, **search)
            shortened += cut_off(group, ([text] for text in translated))
            hypotheses += map(one_line, translated)
            bar.update(len(hypotheses) - bar.n)
    if shortened:
        first = describe_cut_off(translator, shortened[0])
        log(f"warning: {len(shortened)} of {len(texts)} translations were cut off: {first}")
    return hypotheses


def _measures(options: argparse.Namespace, language: str) -> list[Measure]:
    """Return the functions that compute the metrics, before anything is translated."""
    measures: dict[str, Callable[[str], Measure]] = {"bleu": partial(_bleu, options), **METRICS}
    names = [name.strip().lower() for name in options.metric.split(",")]
    if unknown := [name for name in names if name not in measures]:
        raise ValueError(
            f"{unknown[0]!r} is not a metric; choose from {', '.join(measures)}, separated by commas"
        )
    if "bleu" not in names and (options.bleu_tokenizer is not None or options.protocol != "sacrebleu"):
        raise ValueError(
            "--bleu-tokenizer and --protocol have an effect only on BLEU; add bleu to --metric, or leave "
            "them out"
        )
    return [measures[name](language) for name in dict.fromkeys(names)]


def _bleu(options: argparse.Namespace, language: str) -> Measure:
    tokenizer, compute = options.bleu_tokenizer, partial(bleu.multi30k_bleu, language=language)
    if options.protocol == "sacrebleu":
        tokenizer = bleu.tokenizer_for(language) if tokenizer is None else tokenizer
        bleu.bleu_metric(tokenizer)  # it refuses a tokenizer that cannot be used
        compute = partial(bleu.sacrebleu, tokenizer=tokenizer)
    elif tokenizer is not None:
        raise ValueError(
            f"--protocol multi30k tokenizes by Moses, not by --bleu-tokenizer {tokenizer}; leave one out"
        )
    elif len(options.references or ()) > 1:
        raise ValueError("--protocol multi30k takes one reference; give one file")
    else:
        check_language(language)

    def measure(hypotheses: list[str], *references: list[str]) -> Score:
        score = compute(hypotheses, *references)
        return Score("BLEU", score.bleu, score.signature)

    return measure
