"""Overridden methods and hooks are noticed; `test_checkpoint_custom_model` compares whole models."""

import pytest

from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.plain import any_hook, hooks_of, overridden


def test_law_a_method_overridden_on_the_instance_is_a_change():
    layer = LayerNorm(4)
    assert overridden(layer) == []
    layer.extra_repr = lambda: ""
    assert overridden(layer) == ["extra_repr"]
    layer.extra_repr.same_in_evaluation = True
    assert overridden(layer) == []


@pytest.mark.parametrize(
    "register", ["forward_hook", "forward_pre_hook", "full_backward_hook", "full_backward_pre_hook"]
)
def test_law_each_kind_of_hook_is_a_change_until_it_is_removed(register: str):
    layer = LayerNorm(4)
    handle = getattr(layer, f"register_{register}")(lambda *_: None)
    assert any_hook(*hooks_of(layer))
    handle.remove()
    assert not any_hook(*hooks_of(layer))
