"""What counts as changed: a subclass, an attribute of the instance, a hook."""

from collections.abc import Callable

import pytest
from torch import nn

from annotated_transformer.fast.modules import ByteDropout, fast_modules
from annotated_transformer.fast.overrides import has_hooks, overridden
from annotated_transformer.model.attention import FusedAttention
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.transformer import Transformer

MakeModel = Callable[..., Transformer]


class Louder(LayerNorm):
    """A norm that is computed otherwise."""

    def forward(self, x):
        return 2 * super().forward(x)


def test_law_a_method_counts_as_changed_in_a_subclass_or_on_the_instance():
    assert overridden(LayerNorm(4), LayerNorm, "forward", "extra_repr") == []
    assert overridden(Louder(4), LayerNorm, "forward", "extra_repr") == ["forward"]
    replaced = LayerNorm(4)
    replaced.forward = lambda x: x
    assert overridden(replaced, LayerNorm, "forward") == ["forward"]
    replaced.extra_repr = lambda: ""
    assert overridden(replaced, LayerNorm, "forward", "extra_repr") == ["forward", "extra_repr"]


@pytest.mark.parametrize(
    "register",
    [
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
    ],
)
def test_law_each_kind_of_hook_is_seen_until_it_is_removed(register: str):
    layer = nn.Linear(2, 2)
    assert not has_hooks(layer)
    handle = getattr(layer, register)(lambda *_: None)
    assert has_hooks(layer)
    handle.remove()
    assert not has_hooks(layer)


def test_law_a_changed_module_is_not_replaced(make_model: MakeModel):
    class Half(nn.Dropout):
        def forward(self, x):
            return x / 2

    model = make_model()
    first, last = model.encoder.layers[0].add_norm_1, model.decoder.layers[0].add_norm_3
    first.norm, first.dropout = Louder(12), Half(0.5)
    last.norm.forward = lambda x: 2 * x
    last.dropout.register_forward_hook(lambda *_: None)
    hooked, other = model.encoder.layers[0].self_attention, model.decoder.layers[0].cross_attention
    hooked.attention.register_forward_hook(lambda *_: None)
    other.attention = FusedAttention()
    kept = [first.norm, first.dropout, last.norm, last.dropout, hooked.attention, other.attention]
    with fast_modules(model):
        found = [first.norm, first.dropout, last.norm, last.dropout, hooked.attention, other.attention]
        assert found == kept
        assert type(model.dropout) is ByteDropout
