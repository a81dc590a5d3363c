"""The command line: download a corpus, train a model, evaluate it, and translate with it.

Each command is a file in `commands`; this file runs them and reports errors.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TextIO

try:
    import torch  # takes a second or more
except KeyboardInterrupt:
    sys.exit(130)

from annotated_transformer import __version__
from annotated_transformer.commands.curves import add_curves_options, curves_command
from annotated_transformer.commands.download import add_download_options, download_command
from annotated_transformer.commands.evaluate import add_evaluate_options, evaluate_command
from annotated_transformer.commands.options import name_options
from annotated_transformer.commands.output import ReaderGone, drop_unwritable, log
from annotated_transformer.commands.signals import Terminated, exit_status, handle_signals, raise_signal
from annotated_transformer.commands.train import train_command
from annotated_transformer.commands.train_options import add_train_options
from annotated_transformer.commands.translate import add_translate_options, translate_command

MOST_THREADS = 1024  # PyTorch aborts the process if there are far more
# Translation takes many small steps, in which threads wait for each other. On two cores that other
# processes kept busy, greedy decoding took 2.7 times as long with two threads as with one for 128
# sentences, and 36 times as long for one sentence.
ONE_THREAD = ("translate", "evaluate")


class Command(NamedTuple):
    """The functions that add the options of a command and run it; the docstring of `run` is its help."""

    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


COMMANDS = {
    "translate": Command(add_translate_options, translate_command),
    "download": Command(add_download_options, download_command),
    "train": Command(add_train_options, train_command),
    "evaluate": Command(add_evaluate_options, evaluate_command),
    "curves": Command(add_curves_options, curves_command),
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
    on_cpu = "can't allocate memory" in str(error)  # PyTorch has no exception class for it
    return on_cpu or isinstance(error, (MemoryError, torch.OutOfMemoryError))


def _run(options: argparse.Namespace) -> None:
    if options.threads is not None:
        _set_threads(options.threads)
    elif options.command in ONE_THREAD and "OMP_NUM_THREADS" not in os.environ:
        _set_threads(1)
    with handle_signals(raise_signal):
        options.run(options)


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
    torch.set_num_threads(threads)


class _Parser(argparse.ArgumentParser):
    """A parser whose help may be piped to `head`; without it, argparse in Python 3.11.2 raises an error."""

    def _print_message(self, message: str, file: Any = None) -> None:
        with suppress(BrokenPipeError):
            super()._print_message(message, file)


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    """Return a parser of all commands, with the options of those that `arguments` name."""
    parser = _Parser(prog="annotated-transformer", description=__doc__.partition("\n")[0])
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True)
    for name, (add_options, run) in COMMANDS.items():
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        command.set_defaults(run=run, command=name)
        # Stepping through a command shows no options of the others; building these would take only 0.6 ms.
        if name in arguments:
            add_options(command)
            default = "1, unless OMP_NUM_THREADS is set" if name in ONE_THREAD else "PyTorch's choice"
            command.add_argument("--threads", type=int, help=f"number of CPU threads (default: {default})")
    return parser


if __name__ == "__main__":
    sys.exit(main())
