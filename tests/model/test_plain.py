"""Overridden methods and hooks are noticed; `test_checkpoint_custom_model` compares whole models."""

import pytest

from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.plain import changes


class Louder(LayerNorm):
    """A norm with a changed `forward`."""

    def forward(self, x):
        return 2 * super().forward(x)


def test_law_a_method_overridden_in_a_subclass_or_on_the_instance_is_a_change():
    assert changes(LayerNorm(4), LayerNorm, "forward", "extra_repr") == []
    assert changes(Louder(4), LayerNorm, "forward", "extra_repr") == ["overrides forward"]
    assert changes(Louder(4), LayerNorm, "extra_repr") == []
    replaced = LayerNorm(4)
    replaced.extra_repr = lambda: ""
    assert changes(replaced, LayerNorm, "forward") == []
    assert changes(replaced, LayerNorm) == ["overrides extra_repr"]  # of all methods, on the instance
    replaced.extra_repr.same_in_evaluation = True
    assert changes(replaced, LayerNorm, "extra_repr") == changes(replaced, LayerNorm) == []


@pytest.mark.parametrize(
    "register", ["forward_hook", "forward_pre_hook", "full_backward_hook", "full_backward_pre_hook"]
)
def test_law_each_kind_of_hook_is_a_change_until_it_is_removed(register: str):
    layer = LayerNorm(4)
    handle = getattr(layer, f"register_{register}")(lambda *_: None)
    assert changes(layer, LayerNorm, "forward") == ["has hooks"]
    handle.remove()
    assert changes(layer, LayerNorm, "forward") == []
