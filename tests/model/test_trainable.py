"""The protocol of models other than the Transformer, and what it refuses."""

import pytest
import torch

from annotated_transformer.model.trainable import DecodeAgain, is_transformer
from annotated_transformer.model.transformer import Transformer
from tests.own_models import SHAPE, LanguageModel, make


def test_oracle_the_steps_give_the_logits_of_one_whole_pass():
    model, ids = make(LanguageModel).double().eval(), torch.randint(3, 17, (3, 7))
    with torch.no_grad():
        steps = DecodeAgain(model, ids)
        found = torch.stack([steps.step(tokens) for tokens in ids.unbind(1)], dim=1)
        torch.testing.assert_close(found, model(ids), rtol=0, atol=1e-12)
        steps.select(torch.tensor([2, 0]))
        more = torch.cat([ids[[2, 0]], torch.tensor([[5], [6]])], dim=1)
        torch.testing.assert_close(steps.step(more[:, -1]), model(more)[:, -1], rtol=0, atol=1e-12)


@pytest.mark.message
def test_message_a_step_for_other_targets_or_beyond_the_positions():
    steps = DecodeAgain(make(LanguageModel, max_length=2), torch.tensor([[1], [1]]))
    with pytest.raises(ValueError, match=r"tokens have shape \(3,\), and there are 2 targets; give one to"):
        steps.step(torch.tensor([5, 6, 7]))
    steps.step(torch.tensor([1, 1]))
    steps.step(torch.tensor([5, 6]))
    with pytest.raises(ValueError, match="the targets have 2 tokens, and the model has 2 positions; end"):
        steps.step(torch.tensor([5, 6]))


def test_law_a_compiled_transformer_is_one_and_a_model_of_the_protocol_is_none():
    transformer = Transformer(SHAPE)
    assert is_transformer(transformer)
    assert is_transformer(torch.compile(transformer, backend="eager"))
    assert not is_transformer(make(LanguageModel))
