"""Marian models of `transformers`: their settings for a config of ours, and loading one that ours can be."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.calls import warn
from annotated_transformer.config import TransformerConfig
from annotated_transformer.interop.libraries import needed, not_carried_over
from annotated_transformer.interop.marian_weights import EMBEDDINGS, OUTPUT, SHARED, sines_then_cosines
from annotated_transformer.model.positional_encoding import sinusoids

STACKS = ("encoder", "decoder")
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}  # theirs, ours
SIZES = {"layers": "num_layers", "attention_heads": "num_heads", "ffn_dim": "d_ff"}  # of both stacks
REQUIRED = {
    "scale_embedding": True,
    "static_position_embeddings": True,
    "normalize_before": False,
    "share_encoder_decoder_embeddings": True,  # separate vocabularies have separate embeddings
}
REFUSED_IF_TRUE = ("normalize_embedding", "add_final_layer_norm")
TRAINING_ONLY = ("attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop")


def marian_settings(config: TransformerConfig) -> dict[str, Any]:
    """Return the settings of the Marian model that computes what ours does, for `config.json`."""
    sizes = {f"{stack}_{theirs}": getattr(config, ours) for stack in STACKS for theirs, ours in SIZES.items()}
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "vocab_size": config.vocab_size,
        "decoder_vocab_size": config.vocab_size,
        "max_position_embeddings": config.max_length,
        "d_model": config.d_model,
        **sizes,
        "activation_function": config.activation,
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        **REQUIRED,
        "tie_word_embeddings": config.tied_output,
        "is_encoder_decoder": True,
        **_special_ids(config),
    }


def generation_settings(config: TransformerConfig) -> dict[str, Any]:
    """Return the settings of `generate`: greedy search, and neither padding nor BOS in a target."""
    suppressed = {"suppress_tokens": [config.pad_id, config.bos_id]}
    return {"max_length": config.max_length, "num_beams": 1, **_special_ids(config), **suppressed}


def _special_ids(config: TransformerConfig) -> dict[str, int | None]:
    """Return the settings that have special ids; a target that reaches its limit gets no EOS."""
    return {
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
        "forced_eos_token_id": None,
    }


def refuse_other_than_marian(config: TransformerConfig) -> None:
    """Refuse a shape that Marian models in `transformers` do not have."""
    for name, only in (("norm", "post"), ("positions", "sinusoidal")):
        if (value := getattr(config, name)) != only:
            raise ValueError(
                f"{name}={value!r} cannot be carried over: a Marian model of transformers has {only!r}"
            )
    if config.has_final_norm:
        raise ValueError(
            "final_norm=True cannot be carried over: a Marian model has no norm after its last layer"
        )


def read_marian_shape(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `TransformerConfig` that these settings describe."""
    return {ours: settings[f"encoder_{theirs}"] for theirs, ours in SIZES.items()} | {
        "max_length": settings["max_position_embeddings"],
        "d_model": settings["d_model"],
        "dropout": settings["dropout"],
        "activation": ACTIVATIONS[settings["activation_function"]],
        "tied_output": settings["tie_word_embeddings"],
    }


def load_marian(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the settings of the model in a folder.

    In the settings, `tie_word_embeddings` is what the tensors are: there are folders in which it is True,
    and the output has a matrix of its own.
    """
    library = needed("transformers", "importing a Marian model")
    settings = library.MarianConfig.from_pretrained(folder).to_dict()
    _refuse_other_settings(folder, settings)
    logging = library.utils.logging
    shows_progress = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model, report = library.MarianMTModel.from_pretrained(
            folder, dtype="auto", local_files_only=True, output_loading_info=True
        )
    except OSError as error:
        raise FileNotFoundError(f"{folder} has no weights that transformers can read ({error})") from error
    finally:
        if shows_progress:
            logging.enable_progress_bar()
    tensors = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    if not settings["tie_word_embeddings"] and report["missing_keys"] == set(EMBEDDINGS):
        # An older transformers wrote the matrix that encoder and decoder shared there, and no copies.
        tensors |= dict.fromkeys(EMBEDDINGS, tensors[SHARED])
        report["missing_keys"] = set()
    for keys, has in (("unexpected_keys", "tensors that Marian models do not have"), ("missing_keys", "no")):
        if report[keys]:
            names = ", ".join(sorted(report[keys]))
            raise not_carried_over(f"{folder} has {has} {names}")
    _refuse_other_tables(folder, tensors)
    tied = settings["tie_word_embeddings"] and torch.equal(tensors[OUTPUT], tensors[EMBEDDINGS[0]])
    return tensors, settings | {"tie_word_embeddings": tied}


def _refuse_other_settings(folder: Path, settings: dict[str, Any]) -> None:
    for name, only in (REQUIRED | dict.fromkeys(REFUSED_IF_TRUE, False)).items():
        if settings.get(name, only) is not only:
            raise not_carried_over(f"{folder} has {name}={settings[name]}", f": only {only} can")
    for name in SIZES:
        encoder, decoder = (settings[f"{stack}_{name}"] for stack in STACKS)
        if encoder != decoder:
            sizes = f"encoder_{name}={encoder} and decoder_{name}={decoder}"
            raise not_carried_over(f"{folder} has {sizes}", ": in our model they are equal")
    if (activation := settings["activation_function"]) not in ACTIVATIONS:
        ours = f"; our model has {', '.join(ACTIVATIONS)}"
        raise not_carried_over(f"{folder} has activation_function={activation!r}", ours)
    if lost := {name: settings[name] for name in TRAINING_ONLY if settings.get(name)}:
        warn(
            f"{folder} has {lost}, which our model does not have; translations are the same, but further "
            f"training is different"
        )


def _refuse_other_tables(folder: Path, tensors: dict[str, Tensor]) -> None:
    if not torch.equal(*(tensors[name] for name in EMBEDDINGS)):
        embeddings = f"{folder} has different embeddings in encoder and decoder"
        raise not_carried_over(embeddings, ": our model has one for source and target")
    for stack in STACKS:
        table = tensors[f"model.{stack}.embed_positions.weight"]
        length, d_model = table.shape
        expected = sinusoids(length, d_model)[:, sines_then_cosines(d_model)]
        if not torch.allclose(table.double(), expected, atol=1e-2):  # the table may be of half precision
            raise not_carried_over(f"{folder} has positions of the {stack} other than sinusoids")
