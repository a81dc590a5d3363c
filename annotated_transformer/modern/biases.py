"""Linear maps without biases, as in PaLM (Chowdhery et al., 2022, arXiv:2204.02311) and Llama."""

from torch import nn

from annotated_transformer.kinds import refuses_other_kinds


@refuses_other_kinds
def remove_biases(model: nn.Module) -> int:
    """Remove the bias of each linear map in place, and return how many parameters these were.

    Do it before training: a bias of 0 changes nothing, and others do.
    """
    removed = 0
    for module in model.modules():
        if isinstance(module, nn.Linear) and module.bias is not None:
            removed += module.bias.numel()
            module.register_parameter("bias", None)
    return removed
