"""The command line: train a model, translate with it, measure it (chapters on training and decoding)."""

import argparse
import dataclasses
import math
import os
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import torch
from sacrebleu.metrics.bleu import BLEU
from tqdm import tqdm

from annotated_transformer import checkpoint
from annotated_transformer.config import TINY
from annotated_transformer.decoding.length_penalty import GnmtLength, LengthPenalty, PlainLength
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Pair, make_batches
from annotated_transformer.text.corpus import READERS, load_corpus, read_pairs
from annotated_transformer.text.tokenizer import Tokenizer
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.keeper import Keeper, fingerprint
from annotated_transformer.training.report import Report
from annotated_transformer.training.snapshots import save_snapshot, snapshots
from annotated_transformer.training.team import join_team
from annotated_transformer.training.trainer import train

LENGTH_PENALTIES: dict[str, type[GnmtLength | PlainLength]] = {"gnmt": GnmtLength, "plain": PlainLength}


class SearchOptions(TypedDict):
    """What `Translator.translate` takes of the command line."""

    beam_size: int
    length_penalty: LengthPenalty


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a mistake of its user is one sentence on stderr and exit status 2."""
    options = _parser().parse_args(arguments)
    try:
        if options.threads is not None:
            _set_threads(options.threads)
        options.run(options)
    except (ValueError, OSError, FloatingPointError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def train_command(options: argparse.Namespace) -> None:
    """Learn a tokenizer and a small model, and save both.

    A training that was stopped goes on when the same command is given again. Under torchrun,
    several processes share each batch.
    """
    config = _training_config(options)
    with join_team() as team:
        _train(options, config, first=team.rank == 0)


def _train(options: argparse.Namespace, config: TrainingConfig, *, first: bool) -> None:
    corpus = load_corpus(options.corpus, folder=options.data, source=options.source, target=options.target)
    _refuse_unwritable(options.out)
    texts = corpus.splits["train"]
    torch.manual_seed(options.seed)  # for the first weights and for dropout
    tokenizer = Tokenizer.train((text for pair in texts for text in pair), vocab_size=options.vocab_size)
    model = Transformer(dataclasses.replace(TINY, vocab_size=tokenizer.vocab_size, dropout=options.dropout))
    validation = _encode(tokenizer, corpus.splits["val"]) if "val" in corpus.splits else None
    if first:  # of the processes: the others only compute
        print(corpus.summary(), file=sys.stderr)

    def keep(report: Report) -> None:
        if first:
            _say(report)
            save_snapshot(options.out, report.epoch, model, tokenizer, keep=options.average)
            checkpoint.save(options.out, model, tokenizer)

    identity = {"corpus": fingerprint(texts), "tokenizer": fingerprint(tokenizer.to_json())}
    with Keeper(options.out, identity=identity, seconds=60 * options.save_minutes) as keeper:
        train(
            model,
            _encode(tokenizer, texts),
            config,
            generator=torch.Generator().manual_seed(options.seed),
            validation=make_batches(validation, batch_tokens=config.batch_tokens) if validation else None,
            report=keep,
            keeper=keeper,
        )
        if first:
            epochs = snapshots(options.out)
            checkpoint.save(options.out, *checkpoint.average(epochs))
            mean = "" if len(epochs) == 1 else f", the mean of the last {len(epochs)} epochs' weights"
            print(f"{options.out} has the model of step {keeper.step}{mean}", file=sys.stderr)


def translate_command(options: argparse.Namespace) -> None:
    """Print a translation of each text given, or of each line of the standard input."""
    given = "" if options.texts else sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    texts = options.texts or (given.split("\n") if given else [])
    if not texts:
        raise ValueError('nothing to translate; give a text, such as "A man is sleeping.", or lines on stdin')
    search = _search_options(options)
    for translation in Translator.from_folder(options.model).translate(texts, **search):
        print(_one_line(translation))


def evaluate_command(options: argparse.Namespace) -> None:
    """Print the sacreBLEU of the model's translations of a split, and the signature that says how."""
    pairs = read_pairs(options.data, options.split, source=options.source, target=options.target)
    search, translator = _search_options(options), Translator.from_folder(options.model)
    texts, references = map(list, zip(*pairs, strict=True))
    bleu = BLEU()
    score = bleu.corpus_score(translator.translate(texts, **search), [references])
    print(f"BLEU = {score.score:.2f}")
    print(bleu.get_signature())


def _search_options(options: argparse.Namespace) -> SearchOptions:
    kind = LENGTH_PENALTIES[options.length_penalty]
    penalty = kind() if options.alpha is None else kind(options.alpha)
    return {"beam_size": options.beam, "length_penalty": penalty}


def _one_line(text: str) -> str:
    """Write control characters as escapes: they would drive the terminal, or end the line."""
    control = {c for c in text if unicodedata.category(c) in ("Cc", "Zl", "Zp")}
    return text.translate({ord(c): c.encode("unicode_escape").decode() for c in control})


def _training_config(options: argparse.Namespace) -> TrainingConfig:
    if options.average < 1:
        raise ValueError(f"--average {options.average} is the mean of nothing; give 1 or more epochs")
    return TrainingConfig(
        steps=options.steps,
        minutes=options.minutes,
        batch_tokens=options.batch_tokens,
        warmup_steps=options.warmup_steps,
        peak=options.peak,
        bf16=options.bf16,
    )


def _encode(tokenizer: Tokenizer, texts: list[tuple[str, str]]) -> list[Pair]:
    src, tgt = zip(*texts, strict=True)
    return list(zip(tokenizer.encode_source(list(src)), tokenizer.encode_target(list(tgt)), strict=True))


def _say(report: Report) -> None:
    line = f"step {report.step}: training loss {report.training_loss:.3f}"
    if report.validation_loss is not None:
        perplexity = math.exp(report.validation_loss)
        line += f", validation loss {report.validation_loss:.3f} (perplexity {perplexity:.2f})"
    tqdm.write(line, file=sys.stderr)


def _refuse_unwritable(folder: Path) -> None:
    """Find out before the training, not after it."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to; give another folder for --out")


def _set_threads(threads: int) -> None:
    if threads < 1:
        raise ValueError(f"--threads {threads} would do no work; give 1 or more")
    torch.set_num_threads(threads)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m annotated_transformer", description=__doc__)
    commands = parser.add_subparsers(required=True)

    command = _add(commands, "train", train_command)
    command.add_argument("--corpus", choices=READERS, default="files", help="(%(default)s)")
    command.add_argument("--data", type=Path, help="its folder; files: SPLIT.LANGUAGE, or the same with .gz")
    _add_languages(command)
    command.add_argument("--out", type=Path, required=True, help="folder for the model")
    command.add_argument("--minutes", type=float, help="stop after so many minutes of training")
    command.add_argument("--steps", type=int, help="stop after so many updates of the weights")
    command.add_argument("--vocab-size", type=int, default=4000, help="of both languages (%(default)s)")
    command.add_argument("--batch-tokens", type=int, default=2048, help="of each side (%(default)s)")
    command.add_argument("--warmup-steps", type=int, default=200, help="rising learning rate (%(default)s)")
    command.add_argument("--peak", type=float, default=3e-3, help="highest learning rate (%(default)s)")
    command.add_argument("--dropout", type=float, default=0.1, help="as in the paper (%(default)s)")
    command.add_argument("--average", type=int, default=1, metavar="EPOCHS", help="(%(default)s)")
    command.add_argument("--save-minutes", type=float, default=3.0, help="between two saves (%(default)s)")
    command.add_argument("--bf16", action="store_true", help="products in bfloat16")
    command.add_argument("--seed", type=int, default=0, help="of everything random (%(default)s)")

    command = _add(commands, "translate", translate_command)
    command.add_argument("--model", type=Path, required=True, help="folder that train wrote")
    command.add_argument("texts", nargs="*", metavar="text", help="none: the lines of the standard input")
    _add_search(command)

    command = _add(commands, "evaluate", evaluate_command)
    _add_corpus(command)
    command.add_argument("--model", type=Path, required=True, help="folder that train wrote")
    command.add_argument("--split", required=True, help="such as test_2016_flickr")
    _add_search(command)
    return parser


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace], None],
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
    command.set_defaults(run=run)
    command.add_argument("--threads", type=int, help="of the processor (torch's choice)")
    return command


def _add_corpus(command: argparse.ArgumentParser) -> None:
    command.add_argument("--data", type=Path, required=True, help="folder of SPLIT.LANGUAGE files, or .gz")
    _add_languages(command)


def _add_languages(command: argparse.ArgumentParser) -> None:
    command.add_argument("--source", default="en", help="ending of the files to translate from (%(default)s)")
    command.add_argument("--target", default="de", help="ending of the files to translate into (%(default)s)")


def _add_search(command: argparse.ArgumentParser) -> None:
    command.add_argument("--beam", type=int, default=1, help="hypotheses kept (%(default)s: greedy search)")
    command.add_argument("--length-penalty", choices=LENGTH_PENALTIES, default="gnmt", help="(%(default)s)")
    command.add_argument("--alpha", type=float, help="its exponent (gnmt: 0.6 as in the paper; plain: 1)")


if __name__ == "__main__":
    sys.exit(main())
