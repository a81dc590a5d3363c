"""The states of all layers: they are those of the layers called one by one."""

import pytest
import torch
from torch import nn

from annotated_transformer.inspection.layers import observe_layers
from annotated_transformer.modern.modern_model import ModernConfig, ModernModel

IDS = torch.tensor([[1, 5, 6, 7, 2], [1, 8, 2, 0, 0]])


def test_oracle_the_hidden_states_of_a_modern_model_are_those_of_its_layers():
    model = ModernModel(ModernConfig(vocab_size=11, num_layers=3, d_model=8, d_ff=16, dropout=0.5)).double()
    states = observe_layers(model, IDS)["encoder"]
    model.eval()
    expected = [model.embed(IDS)]
    for layer in model.encoder.layers:
        expected.append(layer(expected[-1], model.mask(IDS)))
    torch.testing.assert_close(states.hidden, torch.stack(expected, dim=1), rtol=0, atol=1e-12)
    torch.testing.assert_close(
        model.logits(model.encoder.final_norm(states.hidden[:, -1])), model(IDS), rtol=0, atol=1e-12
    )
    assert states.self_attention.shape == (2, 3, 4, 5, 5)
    torch.testing.assert_close(states.self_attention.sum(-1), torch.ones(2, 3, 4, 5).double())
    assert (states.self_attention.triu(1) == 0).all()
    assert states.cross_attention is None


@pytest.mark.message
def test_message_a_model_without_a_stack_of_layers():
    class Flat(ModernModel):
        def __init__(self, config):
            super().__init__(config)
            self.encoder = nn.Linear(2, 3)

    with pytest.raises(ValueError, match="Flat has no Encoder and no Decoder; give a model with one"):
        observe_layers(Flat(ModernConfig(vocab_size=11)), IDS)
