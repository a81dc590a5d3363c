"""Which model translates, and where; `running/decoding.py` loads it."""

from pathlib import Path
from typing import Annotated, Literal

from annotated_transformer.commands.arguments import Option


class ModelOptions:
    """Model.

    Attributes:
        model: Folder of a model that train wrote; `None` means the one of --pretrained.
        pretrained: Name of a model in this package: de-en or en-de; `None` means the one for --source and
            --target, or en-de.
        device: Device to translate on; `None` means cuda if available, otherwise cpu.
        fast: On a CPU, decode by the accelerated steps of annotated_transformer.fast; they are compared with
            the model first, and refused if they differ.
    """

    model: Annotated[Path | None, Option(not_with=("pretrained",))] = None
    pretrained: str | None = None
    device: Literal["cpu", "cuda"] | None = None
    fast: Annotated[bool, Option(not_with=("engine",))] = False
