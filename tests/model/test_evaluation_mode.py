"""What `evaluating` promises beyond the searches that use it: every part is afterwards as it was."""

import torch
from torch import nn

from annotated_transformer.model.evaluation_mode import evaluating


def test_law_a_part_that_was_not_trained_stays_so():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout())).train()
    model[1].eval()
    with evaluating(model):
        assert not any(module.training for module in model.modules())
        assert not torch.is_grad_enabled()
    assert [module.training for module in model.modules()] == [True, True, False, False]


def test_law_a_part_in_training_is_found_in_a_model_that_is_not():
    model = nn.Sequential(nn.Dropout()).eval()
    model[0].train()
    with evaluating(model):
        assert not model[0].training
    assert [module.training for module in model.modules()] == [False, True]
