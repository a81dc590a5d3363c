"""The mean of several models' weights: section 6.1 of the paper, the chapter on training."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from annotated_transformer.checkpointing.checkpoint import load
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer


def average(folders: Sequence[str | Path]) -> tuple[Transformer, Tokenizer]:
    """Return a model with the averaged weights of the models in `folders`.

    The paper translates with the mean of the last 5 checkpoints of one training run (section 6.1). The mean
    of models from different runs is useless, but this function cannot detect that.

    Raises:
        ValueError: If there is no folder, or the models differ in shape, type or tokenizer.
    """
    if not folders:
        raise ValueError("there is nothing to average; give at least one model folder")
    first, *others = folders
    model, tokenizer = load(first)
    state = model.state_dict()
    total = {name: tensor.double() for name, tensor in state.items()}
    for folder in others:
        other, its_tokenizer = load(folder)
        _refuse_unlike(first, (model, tokenizer), folder, (other, its_tokenizer))
        for name, tensor in other.state_dict().items():
            total[name] += tensor
    model.load_state_dict({name: (tensor / len(folders)).to(state[name]) for name, tensor in total.items()})
    return model, tokenizer


def _refuse_unlike(
    first: str | Path,
    reference: tuple[Transformer, Tokenizer],
    folder: str | Path,
    candidate: tuple[Transformer, Tokenizer],
) -> None:
    one, other = (dataclasses.asdict(model.config) for model, _ in (reference, candidate))
    differences = [
        f"{name}={other[name]!r} and not {one[name]!r}" for name in one if one[name] != other[name]
    ]
    types = [next(model.parameters()).dtype for model, _ in (reference, candidate)]
    if types[0] != types[1]:
        differences.append(f"weights of {types[1]} and not {types[0]}")
    if reference[1].to_json() != candidate[1].to_json():
        differences.append("another tokenizer")
    if differences:
        raise ValueError(
            f"{folder} differs from {first}: {', '.join(differences)}; "
            f"average checkpoints of one training run"
        )
