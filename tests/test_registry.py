"""Names for attentions that are not in the package: what a config can say, and what a Transformer builds."""

import pytest
from torch import nn

from annotated_transformer import __main__ as command_line
from annotated_transformer import registry
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.grouped_query_attention import GroupedQueryAttention
from annotated_transformer.registry import code_name, register_attention, registered_attentions
from tests.own_models import RelativeAttention, grouped, relative

SHAPE = {"vocab_size": 17, "max_length": 23, "num_layers": 2, "d_model": 12, "d_ff": 14, "num_heads": 3}


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch):
    monkeypatch.setattr(registry, "_attentions", {})


def test_law_a_transformer_has_a_registered_attention_in_the_places_that_it_is_made_for():
    register_attention("relative")(relative)
    register_attention("grouped")(grouped)
    model = Transformer(TransformerConfig(**SHAPE, attention="relative"))
    for layer in model.decoder.layers:
        assert type(layer.self_attention.attention) is RelativeAttention
        assert type(layer.cross_attention.attention) is not RelativeAttention
    for layer in model.encoder.layers:
        assert type(layer.self_attention.attention) is RelativeAttention
    model = Transformer(TransformerConfig(**SHAPE, attention="grouped"))
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert [type(module) for module in attentions] == [GroupedQueryAttention] * 6


def test_law_a_line_in_the_registry_makes_a_part_known_to_configs_models_and_the_command_line(monkeypatch):
    monkeypatch.setitem(registry.PARTS["activation"], "tanh", "torch.nn:Tanh")
    for field, parts in registry.PARTS.items():
        for name in parts:
            model = Transformer(TransformerConfig(**SHAPE, **{field: name}))
            assert registry.find_part(field, name) in map(type, model.modules())
            options = command_line._parser(["train"]).parse_args(["train", "--out", "x", f"--{field}", name])
            assert getattr(options, field) == name
    with pytest.raises(ValueError, match=r"activation='sine'; choose from .*'swish', 'tanh'\]$"):
        TransformerConfig(activation="sine")


def test_law_each_attention_is_made_for_its_place():
    made = []

    @register_attention("noted")
    def noted(config: TransformerConfig, place: str) -> nn.Module:
        made.append((config.d_model, place))
        return MultiHeadAttention(config.d_model, config.num_heads)

    Transformer(TransformerConfig(**SHAPE, attention="noted"))
    assert made == [(12, "encoder")] * 2 + [(12, "decoder"), (12, "cross")] * 2


def test_law_a_function_of_the_same_name_and_module_replaces_the_older_one():
    def again() -> object:
        def make(config: TransformerConfig, place: str) -> nn.Module:
            return MultiHeadAttention(12, 3)

        return register_attention("again")(make)

    first, second = again(), again()
    assert registered_attentions()["again"] is second is not first


@pytest.mark.message
@pytest.mark.parametrize("name", ["fused", "", None])
def test_message_a_name_that_cannot_be_registered(name):
    expected = (
        f"an attention cannot be registered as {name!r}; choose another name than .'scaled_dot_product'"
    )
    with pytest.raises(ValueError, match=expected):
        register_attention(name)


@pytest.mark.message
def test_message_a_name_that_is_taken_or_that_is_no_function():
    register_attention("mine")(grouped)
    expected = (
        r"'mine' is the attention of tests\.own_models\.grouped already; choose another name for that of"
    )
    with pytest.raises(ValueError, match=rf"{expected} tests\.own_models\.relative"):
        register_attention("mine")(relative)
    with pytest.raises(
        TypeError, match=r"Linear\(.*\) is not a function of a config and a place; decorate one"
    ):
        register_attention("other")(nn.Linear(2, 3))


@pytest.mark.message
def test_message_a_config_with_a_name_that_nobody_registered():
    register_attention("grouped")(grouped)
    expected = (
        r"attention='relative'; choose from \['scaled_dot_product', 'fused', 'grouped'\], or give your own"
    )
    with pytest.raises(ValueError, match=expected):
        TransformerConfig(**SHAPE, attention="relative")


def test_law_the_name_of_code_is_its_module_and_its_own():
    assert code_name(RelativeAttention.forward) == "tests.own_models.RelativeAttention.forward"
