"""The command line: parsing the arguments, running a command, and reporting its errors.

Each command has two files in `commands`: its options and its help, `NAME_options`, and what it does, which
is imported only when it runs. This file runs the commands and reports errors. Nothing that `--help`,
`--version`, or a mistyped option needs imports PyTorch.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

from annotated_transformer import __version__
from annotated_transformer.commands.curves_options import add_curves_options
from annotated_transformer.commands.download_options import add_download_options
from annotated_transformer.commands.evaluate_options import add_evaluate_options
from annotated_transformer.commands.export_options import add_export_options
from annotated_transformer.commands.grade_options import add_grade_options
from annotated_transformer.commands.import_options import add_import_options
from annotated_transformer.commands.options import name_options
from annotated_transformer.commands.output import ReaderGone, drop_unwritable, log, print_line
from annotated_transformer.commands.signals import Terminated, exit_status, handle_signals, raise_signal
from annotated_transformer.commands.train_options import add_train_options
from annotated_transformer.commands.translate_options import add_translate_options

MOST_THREADS = 1024  # PyTorch aborts the process if there are far more
# Translation takes many small steps, in which threads wait for each other. On two cores that other
# processes kept busy, greedy decoding took 2.7 times as long with two threads as with one for 128
# sentences, and 36 times as long for one sentence.
ONE_THREAD = ("translate", "evaluate", "grade")
WITH_MODELS = ("translate", "evaluate", "train")

EXAMPLES = """\
examples:
  annotated-transformer translate "The weather is nice today."
  annotated-transformer train --corpus toy --minutes 5 --out my_model
  annotated-transformer evaluate --corpus toy --model my_model
  annotated-transformer train --help"""


class Command(NamedTuple):
    """What a command does in one line, and the functions that add its options and run it."""

    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


# `--help` needs neither the commands nor PyTorch, so a command is imported when it runs.


def _translate(options: argparse.Namespace) -> None:
    from annotated_transformer.commands.translate import translate_command

    translate_command(options)


def _download(options: argparse.Namespace) -> None:
    from annotated_transformer.commands.download import download_command

    download_command(options)


def _train(options: argparse.Namespace) -> None:
    from annotated_transformer.commands.train import train_command

    train_command(options)


def _evaluate(options: argparse.Namespace) -> None:
    from annotated_transformer.commands.evaluate import evaluate_command

    evaluate_command(options)


def _curves(options: argparse.Namespace) -> None:
    from annotated_transformer.commands.curves import curves_command

    curves_command(options)


def _grade(options: argparse.Namespace) -> None:
    from annotated_transformer.commands.grade import grade_command

    grade_command(options)


def _export(options: argparse.Namespace) -> None:
    from annotated_transformer.commands.export import export_command

    export_command(options)


def _import(options: argparse.Namespace) -> None:
    from annotated_transformer.commands.import_ import import_command

    import_command(options)


COMMANDS = {
    "translate": Command(
        "translate texts, the lines of a file, or standard input", add_translate_options, _translate
    ),
    "download": Command(
        "download a public corpus, and print its terms of use", add_download_options, _download
    ),
    "train": Command("train a tokenizer and a model, and save both", add_train_options, _train),
    "evaluate": Command(
        "compute BLEU and other metrics of a model or a file", add_evaluate_options, _evaluate
    ),
    "curves": Command("plot the metrics of a training run", add_curves_options, _curves),
    "export": Command("write a model in the format of another library", add_export_options, _export),
    "import": Command("save a model of another library as one of ours", add_import_options, _import),
    "grade": Command("grade the exercises in readers' notebooks", add_grade_options, _grade),
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command, and return its exit status.

    An error that the user can correct is reported in one message on stderr, and the status is 2.
    After SIGINT and SIGTERM, it is 130 and 143. If the reader of the output closes it early, as
    `head -1` does, the command ends with status 0.
    """
    options = argparse.Namespace()
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        _parser(arguments).parse_args(arguments, options)
        options.arguments = arguments
        with _log_warnings(options):
            _run(options)
        return 0
    except ReaderGone:
        return 0
    except (ValueError, OSError, FloatingPointError) as error:
        return _report(_words(error, options))
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        return _report(f"out of memory ({error}); give smaller sizes, batches or beams")
    except (KeyboardInterrupt, Terminated) as error:
        log("terminated" if isinstance(error, Terminated) else "interrupted")
        return exit_status(error)
    finally:
        drop_unwritable()


def _words(error: Exception, options: argparse.Namespace) -> str:
    """Return an error's message, without the operating system's error number."""
    if not (isinstance(error, OSError) and error.strerror):
        return name_options(_message(error), options)
    return error.strerror if error.filename is None else f"{error.strerror}: {error.filename}"


def _message(error: Exception | str) -> object:
    """Return the message that an error or a warning was made of; as a string, it would name no options."""
    return error.args[0] if isinstance(error, Exception) and len(error.args) == 1 else error


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # PyTorch's, on the CPU
        return True
    import torch  # the command that raised the error has imported it

    return isinstance(error, torch.OutOfMemoryError)


def _run(options: argparse.Namespace) -> None:
    with handle_signals(raise_signal):
        if options.threads is not None:
            _set_threads(options.threads)
        elif _translates(options) and "OMP_NUM_THREADS" not in os.environ:
            _set_threads(1)
        if getattr(options, "own_code", None) is not None:
            _import_own_code(options.own_code)
        options.run(options)


def _translates(options: argparse.Namespace) -> bool:
    """Return whether the command translates; `evaluate --hypotheses` compares files, without PyTorch."""
    return options.command in ONE_THREAD and getattr(options, "hypotheses", None) is None


@contextmanager
def _log_warnings(options: argparse.Namespace) -> Iterator[None]:
    """Log the package's warnings as one line each, without the code location."""
    show = warnings.showwarning

    def log_warning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if category is UserWarning:
            log(f"warning: {name_options(_message(message), options)}")
        else:
            show(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.showwarning = log_warning
        yield


def _report(error: object) -> int:
    log(f"error: {error}")
    return 2


def _set_threads(threads: int) -> None:
    if threads < 1:
        raise ValueError(f"--threads {threads} is not a number of threads; give 1 or more")
    if threads > MOST_THREADS:
        raise ValueError(
            f"--threads {threads} is more than {MOST_THREADS}; give at most as many as this machine has "
            f"CPU cores, {os.cpu_count()}"
        )
    import torch  # takes seconds, and a wrong number takes none

    torch.set_num_threads(threads)


def _import_own_code(module: str) -> None:
    """Import a module of the user's, which may be in the folder that the command runs in."""
    sys.path.append(str(Path.cwd()))
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"--import {module}: there is no module {error.name}; give the name of one in this folder, "
            f"such as my_parts for my_parts.py, or of an installed one"
        ) from error


class _Parser(argparse.ArgumentParser):
    """A parser that reports mistakes in one line, as commands do, and suggests the option that was meant."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if file is not None and file is sys.stdout:  # argparse neither flushes it nor reports a full disk
            print_line(message.rstrip("\n"))
        else:
            log(message.rstrip("\n"))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:  # refused here, because only the command's own parser knows its options
            known = [option for action in self._actions for option in action.option_strings]
            meant = get_close_matches(unknown[0].partition("=")[0], known, 1)
            suggestion = f" (did you mean {meant[0]}?)" if meant else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{suggestion}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; see {self.prog} --help\n")


class _Formatter(argparse.HelpFormatter):
    """A formatter that keeps the lines of examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    """Return a parser of all commands, with the options of those that `arguments` name."""
    parser = _Parser(
        prog="annotated-transformer",
        description="Download a corpus, train a model, evaluate it, translate with it, and carry it over.",
        epilog=EXAMPLES,
        formatter_class=_Formatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, title="commands", metavar="COMMAND")
    for name, (summary, add_options, run) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, formatter_class=_Formatter)
        command.set_defaults(run=run, command=name)
        # Stepping through a command shows no options of the others; building these would take only 0.6 ms.
        if name in arguments:
            add_options(command)
            default = "1, unless OMP_NUM_THREADS is set" if name in ONE_THREAD else "PyTorch's choice"
            command.add_argument("--threads", type=int, help=f"number of CPU threads (default: {default})")
            if name in WITH_MODELS:
                command.add_argument(
                    "--import",
                    dest="own_code",
                    metavar="MODULE",
                    help="Python module to import first, in which your code registers an attention",
                )
    return parser


if __name__ == "__main__":
    sys.exit(main())
