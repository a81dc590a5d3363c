"""A task for a mixture of experts: name the successor of each symbol, from a table that has to be learned."""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from annotated_transformer.book.toy.fitting import fit
from annotated_transformer.modern.mixture_of_experts import (
    MixtureOfExperts,
    Router,
    load_balancing_loss,
    observed_routing,
)
from annotated_transformer.modern.swiglu import SwiGLU

SYMBOLS, D_MODEL, D_FF, EXPERTS, TOP_K = 96, 16, 16, 8, 2
SHARED = 3.0


class SuccessorModel(nn.Module):
    """Symbols as fixed vectors, a mixture of experts, and logits of the successor.

    The vectors have a part in common, as those of a residual stream often have.
    """

    def __init__(self, shared: float = SHARED) -> None:
        """Make the vectors, with `shared` times a common part, the mixture, and the map to logits."""
        super().__init__()
        self.register_buffer("vectors", torch.randn(SYMBOLS, D_MODEL) + shared * torch.randn(D_MODEL))
        experts = (SwiGLU(D_MODEL, D_FF) for _ in range(EXPERTS))
        self.mixture = MixtureOfExperts(Router(D_MODEL, EXPERTS, TOP_K), experts)
        self.to_logits = nn.Linear(D_MODEL, SYMBOLS)

    def forward(self, ids: Int[Tensor, " symbols"]) -> Tensor:
        """Return the logits of the successor of each symbol."""
        vectors: Tensor = self.get_buffer("vectors")[ids]
        logits: Tensor = self.to_logits(self.mixture(vectors))
        return logits


def fit_successors(
    *, balance: float, seed: int, updates: int = 300, shared: float = SHARED
) -> SuccessorModel:
    """Train on a random table, with `balance` times the load-balancing loss added."""
    torch.manual_seed(seed)
    model = SuccessorModel(shared)
    everything, successors = torch.arange(SYMBOLS), torch.randperm(SYMBOLS)

    def draw_loss() -> Tensor:
        with observed_routing(model) as routings:
            loss = nn.functional.cross_entropy(model(everything), successors)
        return loss + balance * load_balancing_loss(routings[0])

    fit(model, draw_loss, steps=updates, lr=0.02)
    return model.eval().requires_grad_(False)


def loads(model: SuccessorModel) -> list[float]:
    """Return each expert's share of all choices, the largest first."""
    with observed_routing(model) as routings:
        model(torch.arange(SYMBOLS))
    counts = routings[0].chosen.flatten().bincount(minlength=EXPERTS)
    return sorted((counts / counts.sum()).tolist(), reverse=True)
