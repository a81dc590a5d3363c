"""Loading a Marian model by `transformers`, and what in it our model cannot have."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.calls import warn
from annotated_transformer.interop.libraries import needed
from annotated_transformer.interop.marian_settings import ACTIVATIONS
from annotated_transformer.interop.marian_weights import EMBEDDINGS, OUTPUT, SHARED, sines_then_cosines
from annotated_transformer.model.positional_encoding import sinusoids

TRAINING_ONLY = ("attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop")


def load_marian(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the settings of the model in a folder.

    In the settings, `tie_word_embeddings` is what the tensors are: there are folders in which it is True,
    and the output has a matrix of its own.
    """
    library = needed("transformers", "importing a Marian model")
    settings = library.MarianConfig.from_pretrained(folder).to_dict()
    _refuse_other_settings(folder, settings)
    with _without_progress_bar(library):
        try:
            model, found = library.MarianMTModel.from_pretrained(
                folder, dtype="auto", local_files_only=True, output_loading_info=True
            )
        except OSError as error:
            raise FileNotFoundError(
                f"{folder} has no weights that transformers can read ({error})"
            ) from error
    tensors = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    if not settings["tie_word_embeddings"] and found["missing_keys"] == set(EMBEDDINGS):
        # An older transformers wrote the matrix that encoder and decoder shared there, and no copies.
        tensors |= dict.fromkeys(EMBEDDINGS, tensors[SHARED])
        found["missing_keys"] = set()
    for problem in ("unexpected_keys", "missing_keys"):
        if names := sorted(found[problem]):
            words = "tensors that Marian models do not have" if problem.startswith("un") else "no"
            raise ValueError(f"{folder} has {words} {', '.join(names)}, which cannot be carried over")
    _refuse_other_tables(folder, tensors)
    tied = settings["tie_word_embeddings"] and torch.equal(tensors[OUTPUT], tensors[EMBEDDINGS[0]])
    return tensors, settings | {"tie_word_embeddings": tied}


def _refuse_other_settings(folder: Path, settings: dict[str, Any]) -> None:
    for name, wanted in (
        ("share_encoder_decoder_embeddings", True),  # separate vocabularies have separate embeddings
        ("scale_embedding", True),
        ("static_position_embeddings", True),
        ("normalize_before", False),
        ("normalize_embedding", False),
        ("add_final_layer_norm", False),
    ):
        if settings.get(name, wanted) is not wanted:
            raise ValueError(
                f"{folder} has {name}={settings[name]}, which cannot be carried over: only {wanted} can"
            )
    for name in ("layers", "attention_heads", "ffn_dim"):
        encoder, decoder = settings[f"encoder_{name}"], settings[f"decoder_{name}"]
        if encoder != decoder:
            raise ValueError(
                f"{folder} has encoder_{name}={encoder} and decoder_{name}={decoder}, which cannot be "
                f"carried over: in our model they are equal"
            )
    if (activation := settings["activation_function"]) not in ACTIVATIONS:
        raise ValueError(
            f"{folder} has activation_function={activation!r}, which cannot be carried over; our model has "
            f"{', '.join(ACTIVATIONS)}"
        )
    if lost := {name: settings[name] for name in TRAINING_ONLY if settings.get(name)}:
        warn(
            f"{folder} has {lost}, which our model does not have; translations are the same, but further "
            f"training is different"
        )


def _refuse_other_tables(folder: Path, tensors: dict[str, Tensor]) -> None:
    if not torch.equal(*(tensors[name] for name in EMBEDDINGS)):
        raise ValueError(
            f"{folder} has different embeddings in encoder and decoder, which cannot be carried over: our "
            f"model has one for source and target"
        )
    for stack in ("encoder", "decoder"):
        table = tensors[f"model.{stack}.embed_positions.weight"]
        length, d_model = table.shape
        known = sinusoids(length, d_model)[:, sines_then_cosines(d_model)]
        if not torch.allclose(table.double(), known, atol=1e-2):  # the table may be of half precision
            raise ValueError(
                f"{folder} has positions of the {stack} other than sinusoids, which cannot be carried over"
            )


@contextmanager
def _without_progress_bar(library: Any) -> Iterator[None]:
    logging = library.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
