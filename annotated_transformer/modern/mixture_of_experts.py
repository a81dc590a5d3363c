"""Mixture of experts: each token passes through a few of many feed-forward networks.

Shazeer et al., 2017, arXiv:1701.06538; the loss is that of Fedus et al., *Switch Transformers*, 2021,
arXiv:2101.03961; the weights are normalized over the chosen experts as in Jiang et al., *Mixtral of
Experts*, 2024, arXiv:2401.04088.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.inference import collecting


class Routing(NamedTuple):
    """Where a router sends each token: the probability of each expert, and the experts chosen."""

    probabilities: Float[Tensor, "*batch experts"]
    chosen: Int[Tensor, "*batch top_k"]


class Router(nn.Module):
    r"""Choose for each token the `top_k` most likely experts of $\mathrm{softmax}(xW_r)$."""

    def __init__(self, d_model: int, num_experts: int, top_k: int) -> None:
        """Make the map from a token to a logit for each expert."""
        super().__init__()
        if not 1 <= top_k <= num_experts:
            raise ValueError(f"top_k={top_k} of num_experts={num_experts}; choose 1 to {num_experts} of them")
        self.to_logits = nn.Linear(d_model, num_experts, bias=False)
        self.top_k = top_k

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Routing:
        """Return the probabilities and the choice, which a hook can observe."""
        probabilities = self.to_logits(x).softmax(dim=-1)
        return Routing(probabilities, probabilities.topk(self.top_k, dim=-1).indices)


class MixtureOfExperts(FeedForward):
    """Return the mean of the chosen experts' outputs for each token, weighted by their probabilities.

    The choice has no gradient. The router learns because its probabilities weight the outputs; with
    `top_k=1`, where the weight is always 1, it learns from the `load_balancing_loss` alone.
    """

    def __init__(self, router: Router, experts: Iterable[FeedForward]) -> None:
        """Take the router, and an expert for each of its logits."""
        nn.Module.__init__(self)  # without the matrices of a single network
        self.router, self.experts = router, nn.ModuleList(experts)
        if len(self.experts) != router.to_logits.out_features:
            raise ValueError(
                f"the router chooses from {router.to_logits.out_features} experts, and there are "
                f"{len(self.experts)}; give one for each"
            )

    def forward(
        self,
        x: Float[Tensor, "*batch d_model"],
    ) -> Float[Tensor, "*batch d_model"]:
        """Return each token's transform; an expert computes only what is sent to it."""
        probabilities, chosen = (y.reshape(-1, y.size(-1)) for y in self.router(x))
        tokens = x.reshape(-1, x.size(-1))
        weights = probabilities.gather(-1, chosen)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        output = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            sent, rank = (chosen == i).nonzero(as_tuple=True)
            weighted = weights[sent, rank, None] * expert(tokens[sent])
            # Autocast may have changed the type.
            output = output.index_add(0, sent, weighted.to(x.dtype))
        return output.view_as(x)


def load_balancing_loss(routing: Routing) -> Float[Tensor, ""]:
    r"""Return $E \sum_e f_e P_e$: the share of the choices times the mean probability of each of $E$ experts.

    It is 1 if all experts are used equally, and $E$ if one gets all tokens. Only $P_e$ has a gradient.
    """
    probabilities, chosen = (x.reshape(-1, x.size(-1)) for x in routing)
    num_experts = probabilities.size(-1)
    share = chosen.flatten().bincount(minlength=num_experts) / chosen.numel()
    return num_experts * (share * probabilities.mean(dim=0)).sum()


def observed_routing(model: nn.Module) -> AbstractContextManager[list[Routing]]:
    """Yield a list to which each router in the model appends what it returns."""
    return collecting(module for module in model.modules() if isinstance(module, Router))


def parameters_per_token(model: nn.Module) -> int:
    """Return how many parameters compute one token; memory has to hold all of them.

    Of each mixture, these are the router and `top_k` experts of the same size.
    """
    total = sum(parameter.numel() for parameter in model.parameters())
    for module in model.modules():
        if isinstance(module, MixtureOfExperts):
            experts = sum(parameter.numel() for parameter in module.experts.parameters())
            total -= experts - module.router.top_k * experts // len(module.experts)
    return total
