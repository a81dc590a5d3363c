"""A model that a folder cannot hold is refused by the name of the part that differs."""

from pathlib import Path

import pytest
import torch
from torch import nn

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import refuse_custom_model
from annotated_transformer.fast.modules import fast_modules
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.positional_encoding import SinusoidalPositions
from annotated_transformer.model.transformer import Transformer
from tests.checkpointing.small_models import make_model, make_tokenizer, same


def zeros(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(*shape))


class DoubledLogits(Transformer):
    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return 2 * super().logits(hidden)


CHANGED = [  # what is assigned to a place in the model, and the error
    (
        "encoder.layers.0.add_norm_2.norm",
        nn.LayerNorm(12),
        r"_2.norm is torch\.nn\.\S+ and not annotated_\S+",
    ),
    ("decoder.layers.0.cross_attention.num_heads", 2, "cross_attention has num_heads=2 and not 3"),
    ("embedding.logits", lambda hidden: hidden, "embedding overrides logits"),
    ("embed", lambda ids, start=0: ids, " overrides embed"),
    ("encoder.layers", make_model(activation="gelu").encoder.layers, "encoder.layers.1 is missing"),
    ("encoder.extra", LayerNorm(12), r"encoder.extra is annotated_transformer\.\S+\.LayerNorm"),
    ("decoder.layers.1.add_norm_3.norm.eps", 1e-3, "layers.1.add_norm_3.norm has eps=0.001 and not 1e-05"),
    ("encoder.layers.0.feed_forward.activation", nn.GELU("tanh"), "has approximate='tanh' and not 'none'"),
    ("encoder.layers.1.feed_forward.contract.weight", zeros(12, 15), r"weight=\(12, 15\) and not \(12, 14\)"),
    ("encoder.layers.1.self_attention.to_value.bias", zeros(12), r"to_value has bias=\(12,\) and not None"),
    ("positions", SinusoidalPositions(12, 23), r"has table=of shape \(23, 12\) and not of shape \(19, 12\)"),
    ("positions.table", torch.zeros(19, 12), "positions has another table"),
]


@pytest.mark.message
@pytest.mark.parametrize(("place", "value", "message"), CHANGED, ids=[place for place, *_ in CHANGED])
def test_message_a_changed_part(tmp_path: Path, place: str, value: object, message: str):
    model = make_model(num_layers=2, activation="gelu")
    module, _, name = place.rpartition(".")
    setattr(model.get_submodule(module), name, value)
    with pytest.raises(ValueError, match=rf"^model.*{message}, which loading could not restore: a model"):
        checkpoint.save(tmp_path, model, make_tokenizer())
    assert not list(tmp_path.iterdir())


def keep_norm_in_float32(model: Transformer) -> None:
    model.bfloat16().decoder.layers[0].add_norm_3.norm.float()


def share_layer(model: Transformer) -> None:
    model.encoder.layers[1] = model.encoder.layers[0]


def share_memory(model: Transformer) -> None:
    own, cross = model.decoder.layers[0].self_attention, model.decoder.layers[0].cross_attention
    cross.to_key.weight = nn.Parameter(own.to_key.weight.detach())


CONVERT = ".*; convert the model, for example by \\.float"
SEPARATE = r", and loading would separate them; replace it by a copy \(copy\.deepcopy\), or save model"


@pytest.mark.message
@pytest.mark.parametrize("stored", [None, torch.float16])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda model: setattr(model, "__class__", DoubledLogits),
            r" is tests\.\S+\.DoubledLogits and not \S+\.Transformer",
        ),
        (
            keep_norm_in_float32,
            rf"\.decoder\S+ is of type torch.float32 and earlier weights of torch.bfloat16{CONVERT}",
        ),
        (
            lambda model: model.to(torch.float8_e5m2),
            rf"\.embedding.weight is of type torch.float8_e5m2{CONVERT}",
        ),
        (share_layer, rf"\.encoder\.layers\.1 shares its weights with model\.encoder\.layers\.0{SEPARATE}"),
        (
            share_memory,
            r"\.decoder\.layers\.0\.cross_attention\.to_key\.weight shares its weights with "
            rf"model\.decoder\.layers\.0\.self_attention\.to_key\.weight{SEPARATE}",
        ),
    ],
)
def test_message_a_class_types_or_shared_weights_that_loading_could_not_restore(
    tmp_path: Path, change, message: str, stored
):
    model = make_model(num_layers=2)
    change(model)
    with pytest.raises(ValueError, match=f"^model{message}"):
        checkpoint.save(tmp_path, model, make_tokenizer(), stored=stored)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_law_training_dropout_and_hooks_are_no_changes(tmp_path: Path, dtype: torch.dtype):
    model = make_model(num_layers=2, norm="pre").to(dtype)
    model.dropout.p = 0.7
    model.encoder.register_forward_hook(lambda module, inputs, output: None)
    before = torch.get_rng_state()
    with fast_modules(model):
        checkpoint.save(tmp_path, model.train(), make_tokenizer())
    assert torch.equal(torch.get_rng_state(), before)
    assert same(checkpoint.load(tmp_path)[0], model)
    refuse_custom_model(model)  # now with the plain modules, dropout among them
