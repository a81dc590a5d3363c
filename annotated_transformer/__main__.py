"""The command line: fetch a corpus, train a model, translate with it, measure it.

Each command is a file of `commands`; here they are put together, and mistakes reported.
"""

import argparse
import os
import sys
from collections.abc import Callable
from typing import NamedTuple

import torch

from annotated_transformer import __version__
from annotated_transformer.commands.curves import add_curves_options, curves_command
from annotated_transformer.commands.download import add_download_options, download_command
from annotated_transformer.commands.evaluate import add_evaluate_options, evaluate_command
from annotated_transformer.commands.output import ReaderGone, drop_unwritable, log
from annotated_transformer.commands.signals import Terminated, exit_status, handle_signals, raise_signal
from annotated_transformer.commands.train import add_train_options, train_command
from annotated_transformer.commands.translate import add_translate_options, translate_command

MOST_THREADS = 1024  # far more abort the process


class Command(NamedTuple):
    """What a command takes, and what it does with that; its docstring is its help."""

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
    """Run one command; a mistake of its user is one sentence on stderr and exit status 2.

    After SIGINT and SIGTERM, the status is 130 and 143. A reader of the output who leaves before
    its end, such as `head -1`, is no mistake: the command ends, with status 0.
    """
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except ReaderGone:
        return 0
    except (ValueError, OSError, FloatingPointError) as error:
        return _report(error)
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        return _report(f"out of memory ({error}); give smaller sizes, batches or beams")
    except (KeyboardInterrupt, Terminated) as error:
        log("terminated" if isinstance(error, Terminated) else "interrupted")
        return exit_status(error)
    finally:
        drop_unwritable()


def _is_out_of_memory(error: Exception) -> bool:
    on_cpu = "can't allocate memory" in str(error)  # PyTorch has no class for that
    return on_cpu or isinstance(error, (MemoryError, torch.OutOfMemoryError))


def _run(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    options.arguments = arguments
    if options.threads is not None:
        _set_threads(options.threads)
    with handle_signals(raise_signal):
        options.run(options)
    return 0


def _report(error: object) -> int:
    log(f"error: {error}")
    return 2


def _set_threads(threads: int) -> None:
    if threads < 1:
        raise ValueError(f"--threads {threads} would do no work; give 1 or more")
    if threads > MOST_THREADS:
        raise ValueError(
            f"--threads {threads} is more than {MOST_THREADS}; give as many as there are cores, "
            f"here {os.cpu_count()}"
        )
    torch.set_num_threads(threads)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="annotated-transformer", description=__doc__)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True)
    for name, (add_options, run) in COMMANDS.items():
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        command.set_defaults(run=run)
        add_options(command)
        command.add_argument("--threads", type=int, help="number of CPU threads (default: PyTorch's choice)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
