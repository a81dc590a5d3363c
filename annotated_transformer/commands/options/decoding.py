"""Which model translates, where, and how it searches; `running/decoding.py` uses these options."""

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


class SearchOptions:
    """Search.

    Attributes:
        batch_size: Number of texts that are translated together.
        beam: Number of hypotheses in the beam; `None` means 1, which is greedy search.
        length_penalty: With --beam, the divisor of a log-probability: gnmt, the penalty of the paper,
            ((5 + length) / 6) ** alpha; plain, length ** alpha; `None` means gnmt.
        alpha: With --beam, exponent of the length penalty; `None` means 0.6 for gnmt, as in the paper, and 1
            for plain.
    """

    batch_size: int = 64
    beam: Annotated[int | None, Option(not_with=("sample",))] = None
    length_penalty: Annotated[
        Literal["gnmt", "plain"] | None, Option(only_with=("beam", "nbest"), not_with=("sample",))
    ] = None
    alpha: Annotated[float | None, Option(only_with=("beam", "nbest"), not_with=("sample",))] = None


class SamplingOptions:
    """Sampling.

    Attributes:
        sample: Sample each translation from the model's distribution.
        temperature: Divide the logits by this; below 1, likely tokens become more likely; `None` means 1.
        top_k: Choose among this many most likely tokens; `None` means all.
        top_p: Choose among the most likely tokens that together have this probability; `None` means 1, all.
        seed: Random seed, from 0 to 2**32 - 1, from which each sentence gets its own; `None` means a new one
            each time, which is printed on stderr.
    """

    sample: Annotated[bool, Option(not_with=("engine",))] = False
    temperature: Annotated[float | None, Option(only_with=("sample",))] = None
    top_k: Annotated[int | None, Option(only_with=("sample",))] = None
    top_p: Annotated[float | None, Option(only_with=("sample",))] = None
    seed: Annotated[int | None, Option(only_with=("sample",))] = None
