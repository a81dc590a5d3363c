"""The command line: train a model, translate with it, measure it (chapters on training and decoding)."""

import argparse
import dataclasses
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from sacrebleu.metrics.bleu import BLEU
from tqdm import tqdm

from annotated_transformer import checkpoint
from annotated_transformer.config import TINY
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Pair, make_batches
from annotated_transformer.text.corpus import read_pairs
from annotated_transformer.text.tokenizer import Tokenizer
from annotated_transformer.training.trainer import Report, TrainingConfig, train


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
    """Learn a tokenizer and a small model from the splits `train` and `val`, and save both."""
    config = TrainingConfig(
        steps=options.steps,
        minutes=options.minutes,
        batch_tokens=options.batch_tokens,
        warmup_steps=options.warmup_steps,
        peak=options.peak,
        bf16=options.bf16,
    )
    texts, validation_texts = (
        read_pairs(options.data, split, source=options.source, target=options.target)
        for split in ("train", "val")
    )
    _refuse_unwritable(options.out)
    torch.manual_seed(options.seed)  # for the first weights and for dropout
    tokenizer = Tokenizer.train((text for pair in texts for text in pair), vocab_size=options.vocab_size)
    model = Transformer(dataclasses.replace(TINY, vocab_size=tokenizer.vocab_size, dropout=options.dropout))
    train(
        model,
        _encode(tokenizer, texts),
        config,
        generator=torch.Generator().manual_seed(options.seed),
        validation=make_batches(_encode(tokenizer, validation_texts), batch_tokens=config.batch_tokens),
        report=_say,
    )
    checkpoint.save(options.out, model, tokenizer)


def translate_command(options: argparse.Namespace) -> None:
    """Print a translation of each text given, or of each line of the standard input."""
    texts = options.texts or sys.stdin.buffer.read().decode("utf-8").splitlines()
    if not texts:
        raise ValueError('nothing to translate; give a text, such as "A man is sleeping.", or lines on stdin')
    for translation in Translator.from_folder(options.model).translate(texts):
        print(translation)


def evaluate_command(options: argparse.Namespace) -> None:
    """Print the sacreBLEU of the model's translations of a split, and the signature that says how."""
    pairs = read_pairs(options.data, options.split, source=options.source, target=options.target)
    translator = Translator.from_folder(options.model)
    texts, references = map(list, zip(*pairs, strict=True))
    bleu = BLEU()
    score = bleu.corpus_score(translator.translate(texts), [references])
    print(f"BLEU = {score.score:.2f}")
    print(bleu.get_signature())


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
    _add_corpus(command)
    command.add_argument("--out", type=Path, required=True, help="folder for the model")
    command.add_argument("--minutes", type=float, help="stop after so many minutes of training")
    command.add_argument("--steps", type=int, help="stop after so many updates of the weights")
    command.add_argument("--vocab-size", type=int, default=4000, help="of both languages (%(default)s)")
    command.add_argument("--batch-tokens", type=int, default=2048, help="of each side (%(default)s)")
    command.add_argument("--warmup-steps", type=int, default=200, help="rising learning rate (%(default)s)")
    command.add_argument("--peak", type=float, default=3e-3, help="highest learning rate (%(default)s)")
    command.add_argument("--dropout", type=float, default=0.1, help="as in the paper (%(default)s)")
    command.add_argument("--bf16", action="store_true", help="products in bfloat16")
    command.add_argument("--seed", type=int, default=0, help="of everything random (%(default)s)")

    command = _add(commands, "translate", translate_command)
    command.add_argument("--model", type=Path, required=True, help="folder that train wrote")
    command.add_argument("texts", nargs="*", metavar="text", help="none: the lines of the standard input")

    command = _add(commands, "evaluate", evaluate_command)
    _add_corpus(command)
    command.add_argument("--model", type=Path, required=True, help="folder that train wrote")
    command.add_argument("--split", required=True, help="such as test_2016_flickr")
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
    command.add_argument("--source", default="en", help="ending of the files to translate from (%(default)s)")
    command.add_argument("--target", default="de", help="ending of the files to translate into (%(default)s)")


if __name__ == "__main__":
    sys.exit(main())
