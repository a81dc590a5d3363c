"""`evaluate`: compute the BLEU of a model on a split."""

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tqdm import tqdm

from annotated_transformer.commands.decoding_options import add_search_options, search_options
from annotated_transformer.commands.options import add_corpus_options, add_model_options, load_translator
from annotated_transformer.commands.output import log, print_line
from annotated_transformer.text.corpus import corpus_folder, load_corpus
from annotated_transformer.text.lines import list_problems
from annotated_transformer.text.sentence_pairs import SentencePair, read_pairs, split_names

if TYPE_CHECKING:
    from annotated_transformer.evaluation.bleu import BleuScore

PROTOCOLS = ("sacrebleu", "multi30k")
TOGETHER = 4  # batches of texts sorted by length and translated per update of the progress bar


def add_evaluate_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `evaluate`."""
    add_corpus_options(command)
    add_model_options(command, default="the one for --source and --target")
    command.add_argument(
        "--split", required=True, help="split to translate, such as test or test_2016_flickr"
    )
    command.add_argument(
        "--protocol",
        choices=PROTOCOLS,
        default="sacrebleu",
        help="how to compute BLEU; multi30k: lowercased and tokenized by Moses (default: %(default)s)",
    )
    command.add_argument(
        "--bleu-tokenizer",
        metavar="NAME",
        help="tokenizer of sacreBLEU, such as 13a, zh, ja-mecab, ko-mecab, or char (default: the one "
        "for the language of --target)",
    )
    add_search_options(command)


def evaluate_command(options: argparse.Namespace) -> None:
    """Translate a split, and print the BLEU of the translations and the signature of the computation."""
    measure = _measure(options.protocol, options.target, options.bleu_tokenizer)
    pairs, search = _read_split(options), search_options(options)
    translator = load_translator(options, default=f"{options.source}-{options.target}")
    texts, references = map(list, zip(*pairs, strict=True))
    problems = translator.encode(texts).problems
    if problems:
        listed = [f"pair {index + 1} of {options.split} {problems[index]}" for index in sorted(problems)]
        raise ValueError(list_problems(listed, "or remove these pairs"))
    together = TOGETHER * max(search["batch_size"], 1)
    hypotheses: list[str] = []
    with tqdm(total=len(texts), unit=" texts", disable=None) as bar:
        for start in range(0, len(texts), together):
            hypotheses += translator.translate(texts[start : start + together], **search)
            bar.update(len(hypotheses) - bar.n)
    score = measure(hypotheses, references)
    print_line(f"BLEU = {score.bleu:.2f}")
    print_line(score.signature)


def _read_split(options: argparse.Namespace) -> list[SentencePair]:
    languages = {"source": options.source, "target": options.target}
    if options.corpus == "files":  # the split `train` may be missing
        folder = corpus_folder("files", options.data)
        if split_names(folder, **languages) != ["train"]:
            return read_pairs(folder, options.split, **languages)
    corpus = load_corpus(options.corpus, folder=options.data, **languages)
    if options.split not in corpus.splits:
        raise ValueError(
            f"{options.corpus} has no split {options.split!r}; choose from {', '.join(corpus.splits)}"
        )
    log(corpus.summary())
    return corpus.splits[options.split]


def _measure(
    protocol: str, language: str, tokenizer: str | None
) -> Callable[[list[str], list[str]], "BleuScore"]:
    """Return the function that computes BLEU; refuse a language or tokenizer before translating anything."""
    from annotated_transformer.evaluation import bleu  # slow to import, and only needed here
    from annotated_transformer.text.moses import check_language

    if protocol == "multi30k":
        if tokenizer is not None:
            raise ValueError(
                f"--protocol multi30k tokenizes by Moses, not by --bleu-tokenizer {tokenizer}; leave one out"
            )
        check_language(language)
        return partial(bleu.multi30k_bleu, language=language)
    tokenizer = bleu.tokenizer_for(language) if tokenizer is None else tokenizer
    bleu.bleu_metric(tokenizer)  # it refuses a tokenizer that cannot be used
    return partial(bleu.sacrebleu, tokenizer=tokenizer)
