"""Saving a trained model to a folder and loading it, as safetensors and JSON: the chapter on training.

The folder holds `config.json`, `tokenizer.json` and `model.safetensors`. The weights carry the
digests of all three, so damaged files, and files of different models, are refused. Two models come with
this package.
"""

import dataclasses
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, overload

import torch
from torch import Tensor, nn

from annotated_transformer.checkpointing.files import (
    digest_tensors,
    read_metadata,
    read_tensors,
    safetensors_bytes,
    write_together,
)
from annotated_transformer.checkpointing.own_code import (
    CODE,
    config_type,
    fresh_model,
    refuse_missing_code,
    to_fields,
)
from annotated_transformer.config import ModelConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.plain import differences, plain_name, shared_weights, unwrap
from annotated_transformer.model.trainable import AnyModel, TrainableModel
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.sentence_pairs import Languages, refuse_one_language
from annotated_transformer.text.sentence_pieces import saved_tokenizer
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, Tokenizer

CONFIG, TOKENIZER, WEIGHTS = FILES = ("config.json", "tokenizer.json", "model.safetensors")
FORMAT_VERSION = "1"
EN_DE = "en-de"
PRETRAINED = Path(str(files("annotated_transformer"))) / "weights"
NOT_RESTORED = (
    "which loading could not restore: a model folder holds the config and the weights; change the config, or "
    "save model.state_dict() and keep your code"
)
T = TypeVar("T", bound=TrainableModel)
DTYPES = {str(dtype): dtype for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)}


@refuses_other_kinds
def save(
    folder: str | Path,
    model: AnyModel,
    tokenizer: Tokenizer,
    *,
    stored: torch.dtype | None = None,
    languages: tuple[str, str] | None = None,
    run: str | None = None,
) -> None:
    """Write the model to `folder`, and replace an older one.

    On disk, the weights are rounded to the type `stored`, if given; `load` restores the model's own
    type. In torch.float16, each takes 2 bytes, and is off by at most 1 part in 2048, or by 3e-8 if it is
    below 6e-5. `languages` are the codes of the source and the target language, such as `("en", "de")`,
    which `read_languages` returns. `run` marks the model as written by a training run, which may then
    overwrite it.

    Code is not saved. `config.json` names the class of a `TrainableModel`, and the function that was
    registered for its attention; `load` needs both.

    All files are complete on disk before the first old one is replaced, the weights last. So a full disk
    leaves the older model. A kill leaves the older or the newer model, or, between two replacements, if the
    models differ in shape or tokenizer, a folder that `load` refuses.

    Raises:
        TypeError: If the class of the model cannot be built from its config alone.
        ValueError: If the folder could not restore a part of the model, if model and tokenizer do not belong
            together, if `stored` cannot hold a weight, or if both languages are the same.
    """
    folder = Path(folder)
    refuse_custom_model(model)
    check_tokenizer(model.config, tokenizer)
    if stored is not None and str(stored) not in DTYPES:
        raise ValueError(f"weights cannot be stored in {stored}; choose from {', '.join(DTYPES)}")
    if languages is not None:
        refuse_one_language(*languages)
    state = {plain_name(name): tensor for name, tensor in model.state_dict().items()}
    dtype = next(model.parameters()).dtype
    tensors = {name: tensor.cpu().contiguous() for name, tensor in rounded(state, stored).items()}
    contents = {
        CONFIG: json.dumps(to_fields(model), indent=2).encode() + b"\n",
        TOKENIZER: tokenizer.to_json().encode() + b"\n",
    }
    metadata = {"format": "pt", "format_version": FORMAT_VERSION, "dtype": str(dtype)}
    metadata |= {} if run is None else {"run": run}
    metadata |= {} if languages is None else Languages(*languages)._asdict()
    metadata[WEIGHTS] = digest_tensors(tensors)
    metadata |= {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    write_together(folder, contents | {WEIGHTS: safetensors_bytes(tensors, metadata)})


@overload
def load(folder: str | Path) -> tuple[Transformer, Tokenizer]: ...


@overload
def load(folder: str | Path, kind: type[T]) -> tuple[T, Tokenizer]: ...


@refuses_other_kinds
def load(folder: str | Path, kind: type[Any] | None = None) -> tuple[Any, Tokenizer]:
    """Return the model, in evaluation mode on the CPU, and the tokenizer that `save` wrote.

    `kind` is the class of the model, unless that is `Transformer`: `load(folder, LanguageModel)`.

    A file that was edited is refused. No weight depends on the settings `attention`, `dropout` and, with
    sinusoidal positions, `max_length`. To change one of these, save the weights with a new config::

        model, tokenizer = load(folder)
        changed = Transformer(dataclasses.replace(model.config, attention="fused"))
        changed.load_state_dict(model.state_dict(), assign=True)
        save(new_folder, changed, tokenizer)

    Raises:
        FileNotFoundError: If the folder or one of its files is missing.
        ValueError: If a file is damaged, or does not belong to the others, or if the folder needs other
            code: a class that is not `kind`, or an attention that no code has registered.
    """
    folder = Path(folder)
    _refuse_missing(folder)
    tensors, metadata = _read_weights(folder / WEIGHTS)
    for name in (CONFIG, TOKENIZER):
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != metadata.get(name):
            raise ValueError(
                f"{folder / name} is not the one that {WEIGHTS} was saved with: it was changed, or a save "
                f"was cut short; take all of {', '.join(FILES)} from one save (to change "
                f"attention, dropout or max_length of a model, see help(checkpoint.load))"
            )
    kind = None if kind is Transformer else kind
    config = _read_config(folder, kind)
    tokenizer = saved_tokenizer((folder / TOKENIZER).read_text(encoding="utf-8"))
    check_tokenizer(config, tokenizer)
    model = fresh_model(kind or Transformer, config).to(DTYPES[metadata["dtype"]])
    model.load_state_dict(tensors)
    return model.eval(), tokenizer


def read_languages(folder: str | Path) -> Languages | None:
    """Return the languages that the model in `folder` translates between, or None if they are not known.

    `save` stores them if it is given them; the models of this package are named after theirs.
    """
    folder = Path(folder)
    _refuse_missing(folder)
    metadata = read_metadata(folder / WEIGHTS, way_out="save or copy the model again")
    if set(Languages._fields) <= metadata.keys():
        return Languages(metadata["source"], metadata["target"])
    source, _, target = folder.resolve().name.partition("-")
    is_packaged = folder.resolve().parent == PRETRAINED.resolve()
    return Languages(source, target) if is_packaged and target else None


def pretrained_names() -> list[str]:
    """Return the names of the models, such as `"en-de"` for English to German."""
    return sorted(path.name for path in PRETRAINED.glob("*") if path.is_dir())


def pretrained_folder(name: str) -> Path:
    """Return the folder of a model of this package; its `README.md` is the model card."""
    names = pretrained_names()
    if name not in names:
        raise ValueError(
            f"this package has no model {name!r} (it has {', '.join(names) or 'none'}); "
            f"choose one of these, or give the folder of a model that you trained"
        )
    return PRETRAINED / name


def _read_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    tensors, metadata = read_tensors(path, way_out="save or copy the model again")
    if metadata.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format_version={metadata.get('format_version')}, and this package reads "
            f"{FORMAT_VERSION}; give a folder that annotated_transformer.checkpointing.checkpoint.save wrote"
        )
    if digest_tensors(tensors) != metadata.get(WEIGHTS):
        raise ValueError(f"{path} is damaged (its weights are not those saved); save or copy the model again")
    return tensors, metadata


def _read_config(folder: Path, kind: type | None) -> Any:
    fields = json.loads((folder / CONFIG).read_bytes())
    refuse_missing_code(folder, fields.pop(CODE, {}), fields, kind)
    known = [field.name for field in dataclasses.fields(config_type(kind))]
    if unknown := sorted(set(fields) - set(known)):  # of a later version of this package
        raise ValueError(
            f"{folder / CONFIG} has {unknown}, unknown to this package; it knows {', '.join(known)}"
        )
    return config_type(kind)(**fields)


def rounded(state: dict[str, Tensor], dtype: torch.dtype | None) -> dict[str, Tensor]:
    """Return weights in a type, if one is given, and refuse those that it would make infinite."""
    if dtype is None:
        return state
    tensors = {name: tensor.to(dtype) for name, tensor in state.items()}
    for name, tensor in tensors.items():
        lost = state[name].isfinite() & ~tensor.isfinite()
        if lost.any():
            raise ValueError(
                f"{name} holds {state[name][lost].abs().max():g}, more than {dtype} can "
                f"({torch.finfo(dtype).max:g}); store the model in torch.float32"
            )
    return tensors


def has_file(folder: Path) -> bool:
    """Return whether a folder has any file of a model."""
    return any((folder / name).exists() for name in FILES)


def _refuse_missing(folder: Path) -> None:
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no model folder {folder}; train a model into it, or give another")
    there = sorted(path.name for path in folder.iterdir())
    missing = [name for name in FILES if name not in there]
    if missing:
        raise FileNotFoundError(
            f"{folder} has no {' and no '.join(missing)}; a model folder holds {', '.join(FILES)}, "
            f"and this one holds {', '.join(there) or 'nothing'}"
        )


def refuse_custom_model(model: AnyModel, because: str = NOT_RESTORED) -> None:
    """Refuse a model that differs from `Transformer(model.config)` in more than its weights.

    A `TrainableModel` is compared with `type(model)(model.config)`. `because` ends the message.
    """
    model = unwrap(model)
    _refuse_types(model)
    fresh = fresh_model(type(model) if isinstance(model, TrainableModel) else Transformer, model.config)
    for name, difference in differences(model, fresh):
        raise ValueError(f"{'model' + '.' * bool(name) + name} {difference}, {because}")
    shared = set(shared_weights(fresh))  # as the class has it, so loading restores it
    for name, earlier in shared_weights(model):
        if (name, earlier) in shared:
            continue
        raise ValueError(
            f"model.{name} shares its weights with model.{earlier}, and loading would separate them; replace "
            f"it by a copy (copy.deepcopy), or save model.state_dict() and keep your code"
        )


def _refuse_types(model: nn.Module) -> None:
    first = next(model.parameters()).dtype
    for name, parameter in model.named_parameters():
        if parameter.dtype != first or str(first) not in DTYPES:
            others = f" and earlier weights of {first}" * (parameter.dtype != first)
            raise ValueError(
                f"model.{plain_name(name)} is of type {parameter.dtype}{others}, and a model folder holds "
                f"weights of one of {', '.join(DTYPES)}; convert the model, for example by .float()"
            )


def check_tokenizer(config: ModelConfig, tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer whose ids do not match the model's."""
    of_model = (config.vocab_size, config.pad_id, config.bos_id, config.eos_id)
    of_tokenizer = (tokenizer.vocab_size, PAD_ID, BOS_ID, EOS_ID)
    if of_model != of_tokenizer:
        raise ValueError(
            f"the model has vocab_size, pad_id, bos_id, eos_id = {of_model} "
            f"and the tokenizer {of_tokenizer}; "
            f"build the model with vocab_size=tokenizer.vocab_size, or give the tokenizer it was trained with"
        )
