"""Options that commands share, and their names in error messages. Nothing here imports PyTorch."""

import argparse
from pathlib import Path

from annotated_transformer.argument_names import Message, in_python
from annotated_transformer.commands.decoding_options import OTHER_NAMES as OF_DECODING
from annotated_transformer.text.corpus import CORPORA, DATA_VARIABLE, OWN_FILES, VALIDATION
from annotated_transformer.text.sentence_pairs import Languages

LANGUAGES = Languages("en", "de")  # the default
DEVICES = ("cpu", "cuda")
OTHER_NAMES = OF_DECODING | {"folder": "data"}
ONLY_IN_FILE = ("pad_id", "bos_id", "eos_id")  # those of the tokenizer: fields without an option


def path(text: str) -> Path:
    """Return a path from the command line.

    Raises:
        argparse.ArgumentTypeError: If it is empty, for example because a shell variable is not set.
    """
    if not text:
        raise argparse.ArgumentTypeError("'' is not a path; give the name of a file or folder")
    return Path(text)


def option_name(name: str) -> str:
    """Return the option that sets a field, such as `--max-lr`."""
    return f"--{name.replace('_', '-')}"


def take_languages(options: argparse.Namespace, known: Languages | None = None) -> Languages:
    """Set `--source` and `--target` to `known` languages, or to the defaults, where they are not given."""
    for name, default in zip(Languages._fields, known or LANGUAGES, strict=True):
        if getattr(options, name) is None:
            setattr(options, name, default)
    return Languages(options.source, options.target)


def name_options(message: object, options: argparse.Namespace) -> str:
    """Return a message in which arguments are named as the options that set them.

    `max_lr=3.0` becomes `--max-lr 3.0`, `steps=None` becomes `no --steps`, and `max_lr` becomes
    `--max-lr`. A value that comes from the file of `--config` keeps its name, and a field that only this
    file can set is followed by "(see --config)".
    """
    settings_file = getattr(options, "config", None)

    def in_options(name: str, *value: object) -> str:
        dest = OTHER_NAMES.get(name, name)
        if not hasattr(options, dest):
            see = " (see --config)" * (name in ONLY_IN_FILE and settings_file is not None)
            return f"{in_python(name, *value)}{see}"
        option = option_name(dest)
        if value == (None,):
            return f"no {option}"
        if value and settings_file is not None and getattr(options, dest) is None:
            return in_python(name, *value)
        return " ".join([option, *(str(one) for one in value if one is not True)])

    return message.named(in_options) if isinstance(message, Message) else str(message)


def describe_command(command: argparse.ArgumentParser, text: str, *examples: str) -> None:
    """Set what the help of a command says before its options, and the examples after them."""
    command.description = text
    lines = [f"  annotated-transformer {command.prog.rpartition(' ')[2]} {example}" for example in examples]
    command.epilog = "\n".join(["example:" if len(lines) == 1 else "examples:", *lines])


def add_corpus_options(
    command: argparse.ArgumentParser,
    *,
    splits: tuple[str, ...] = ("train", "valid"),
    languages: tuple[str, str] = ("en", "de"),
) -> None:
    """Add the options of a corpus: one with a name, or your own files for these `splits`.

    `languages` describes the defaults of the two languages in the help.
    """
    corpus = command.add_argument_group("corpus")
    corpus.add_argument(
        "--corpus",
        choices=CORPORA,
        help="; ".join(f"{name}: {known.about}" for name, known in CORPORA.items())
        + f" (default: {OWN_FILES})",
    )
    corpus.add_argument(
        "--data",
        type=path,
        metavar="FOLDER",
        help=f"folder of the corpus, or its parent (default: the environment variable {DATA_VARIABLE}); "
        "for files, it contains SPLIT.LANGUAGE or SPLIT.LANGUAGE.gz, such as train.en; if train is the only "
        "split, val and test are split off, about 5%% of the pairs each; if there are others, the validation "
        f"loss is that of {' or '.join(VALIDATION)}",
    )
    for option, use, default in zip(("source", "target"), ("from", "into"), languages, strict=True):
        corpus.add_argument(
            f"--{option}",
            metavar="LANGUAGE",
            help=f"code of the language to translate {use} (default: {default})",
        )
    own = command.add_argument_group(
        "your own files, under any names",
        "They replace --corpus and --data. Each may be compressed by gzip. Line i of a target file is the "
        "translation of line i of the source file; a TSV file has both, with a tab between its columns.",
    )
    for split in splits:
        for side in ("source", "target", "tsv"):
            kind = "TSV file" if side == "tsv" else f"{side} file"
            own.add_argument(
                f"--{split}-{side}",
                type=path,
                metavar="FILE",
                help=f"{kind} of the split {split} (default: none)",
            )
    own.add_argument(
        "--columns",
        type=columns,
        metavar="SOURCE,TARGET",
        help="columns of the TSV files, as numbers that count from 1, or as names in their first line "
        "(default: 1,2)",
    )


def columns(text: str) -> tuple[int | str, int | str]:
    """Return two columns of a table, each a number or a name.

    Raises:
        argparse.ArgumentTypeError: If there are not two.
    """
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not two columns; give two, such as 1,2 or en,de")
    first, second = (int(name) if name.isdecimal() else name for name in names)
    return first, second


def add_device_option(group: "argparse._ArgumentGroup", use: str) -> None:
    """Add the option for the device, which is for `use`."""
    group.add_argument(
        "--device", choices=DEVICES, help=f"device to {use} on (default: cuda if available, otherwise cpu)"
    )


def add_model_options(command: argparse.ArgumentParser, *, default: str) -> None:
    """Add the options for the model, the user's own or one of the package, and where and how it computes.

    `default` describes the default in the help.
    """
    group = command.add_argument_group("model")
    choice = group.add_mutually_exclusive_group()
    choice.add_argument(
        "--model",
        type=path,
        metavar="FOLDER",
        help="folder of a model that train wrote (default: the one of --pretrained)",
    )
    choice.add_argument(
        "--pretrained",
        metavar="NAME",
        help=f"name of a model in this package: de-en or en-de (default: {default})",
    )
    add_device_option(group, "translate")
    group.add_argument(
        "--fast",
        action="store_true",
        default=None,  # not given
        help="on a CPU, decode by the accelerated steps of annotated_transformer.fast; they are compared "
        "with the model first, and refused if they differ (default: off)",
    )
