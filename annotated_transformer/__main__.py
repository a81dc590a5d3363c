"""The command line: parsing the arguments, running a command, and reporting its errors.

A command is the file of its name in `commands`: options, text and examples of its help, and what it runs.
Nothing that `--help`, `--version`, or a mistyped option needs imports PyTorch.
"""

import argparse
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

from annotated_transformer import __version__
from annotated_transformer.commands.arguments import add_options, check_options
from annotated_transformer.commands.output import Unfinished, drop_unwritable, log
from annotated_transformer.commands.signals import Terminated, handle_signals, raise_signal

FILES = ("translate", "download", "train", "evaluate", "curves", "export", "import_", "grade", "build")
COMMANDS = {name.strip("_"): import_module(f"annotated_transformer.commands.{name}") for name in FILES}
MOST_THREADS = 1024  # PyTorch aborts the process if there are far more
# Translation takes many small steps, in which threads wait for each other. On two cores that other
# processes kept busy, greedy decoding took 2.7 times as long with two threads as with one for 128
# sentences, and 36 times as long for one sentence.
ONE_THREAD = ("translate", "evaluate", "grade", "build")


def main(arguments: list[str] | None = None) -> int:
    """Run one command, and return its exit status.

    An error that the user can correct is reported in one message on stderr, and the status is 2, or 1 if a
    part of the output is there.
    After a signal, it is 128 and the signal's number. If the reader of the output closes it early, as
    `head -1` does, the command ends with status 0.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        options = _parser(arguments).parse_args(arguments)
        options.arguments = arguments
        with _log_warnings(), handle_signals(raise_signal):
            check_options(options, COMMANDS[options.command].GROUPS)
            _set_threads(options)
            if getattr(options, "own_code", None) is not None:
                sys.path.append(str(Path.cwd()))
                import_module(options.own_code)
            getattr(COMMANDS[options.command], f"{options.command}_command")(options)
        return 0
    except BrokenPipeError:  # the reader has closed the standard output
        return 0
    except (ValueError, OSError, FloatingPointError, ModuleNotFoundError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.strerror:  # without the operating system's error number
            message = error.strerror if error.filename is None else f"{error.strerror}: {error.filename}"
        log(f"error: {message}")
        return 1 if isinstance(error, Unfinished) else 2
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        log(f"error: out of memory ({error}); give smaller sizes, batches or beams")
        return 2
    except KeyboardInterrupt:
        log("interrupted")
        return 128 + signal.SIGINT
    except Terminated as error:
        log("terminated")
        return 128 + error.signal
    finally:
        drop_unwritable()


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # PyTorch's, on the CPU
        return True
    import torch  # the command that raised the error has imported it

    return isinstance(error, torch.OutOfMemoryError)


@contextmanager
def _log_warnings() -> Iterator[None]:
    """Log the package's warnings as one line each, without the code location."""
    show = warnings.showwarning

    def log_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if category is UserWarning:
            log(f"warning: {message}")
        else:
            show(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.showwarning = log_warning
        yield


def _set_threads(options: argparse.Namespace) -> None:
    threads = options.threads
    if threads is None:
        compares_files = getattr(options, "hypotheses", None) is not None  # without PyTorch
        if options.command not in ONE_THREAD or compares_files or "OMP_NUM_THREADS" in os.environ:
            return
        threads = 1
    if not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"threads={threads} is not a number from 1 to {MOST_THREADS}; give one")
    import torch  # takes seconds, and a wrong number takes none

    torch.set_num_threads(threads)


class _Parser(argparse.ArgumentParser):
    """A parser that reports mistakes in one line, as commands do, and suggests the option that was meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:  # refused here, because only the command's own parser knows its options
            known = [flag for action in self._actions for flag in action.option_strings]
            meant = get_close_matches(unknown[0].partition("=")[0], known, 1)
            suggestion = f" (did you mean {meant[0]}?)" if meant else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{suggestion}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        log(f"error: {message}; see {self.prog} --help")
        sys.exit(2)


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    """Return a parser of all commands, with the options of those that `arguments` name."""
    parser = _Parser(
        prog="annotated-transformer",
        description="Download a corpus, train a model, evaluate it, translate with it, and carry it over.",
        epilog=_examples(*((name, COMMANDS[name].EXAMPLES[0]) for name in ("translate", "train"))),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, title="commands", metavar="COMMAND", dest="command")
    for name, command in COMMANDS.items():
        its_parser = commands.add_parser(
            name,
            help=command.DESCRIPTION.partition(". ")[0].rstrip("."),
            description=fill(command.DESCRIPTION, 79),
            epilog=_examples(*((name, example) for example in command.EXAMPLES)),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in arguments:  # a debugger that steps through a command shows no options of the others
            for group in command.GROUPS:
                add_options(its_parser, group)
    return parser


def _examples(*lines: tuple[str, str]) -> str:
    return "\n".join(["examples:", *(f"  annotated-transformer {name} {line}" for name, line in lines)])


if __name__ == "__main__":
    sys.exit(main())
