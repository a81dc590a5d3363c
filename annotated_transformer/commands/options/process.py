"""The process of a command; `main` in `annotated_transformer/__main__.py` uses these options."""

from typing import Annotated

from annotated_transformer.commands.arguments import Group, Option


class ProcessOptions:
    """Process.

    Attributes:
        threads: Number of CPU threads; `None` means 1 where texts are translated and OMP_NUM_THREADS is not
            set, otherwise PyTorch's choice.
        own_code: Module to import first, in which your code registers an attention; `None` means none.
    """

    threads: int | None = None
    own_code: Annotated[str | None, Option(flag="import")] = None


THREADS = Group(ProcessOptions, ("threads",))
