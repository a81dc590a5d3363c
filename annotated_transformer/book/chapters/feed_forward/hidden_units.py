"""The hidden units of feed-forward networks in a trained model: read them, keep the largest, set one."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.encoder import Encoder
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.inference import collecting, hooking

Change = Callable[[Tensor], Tensor]


@torch.no_grad()
def hidden_units(
    encoder: Encoder, x: Float[Tensor, "batch tokens d_model"]
) -> Float[Tensor, "layers batch tokens d_ff"]:
    """Return the hidden units of each layer of an encoder, after the activation, bottom up."""
    with collecting(network.activation for network in feed_forward_networks(encoder)) as layers:
        encoder(x)
    return torch.stack(layers)


def feed_forward_networks(module: nn.Module) -> list[FeedForward]:
    """Return the feed-forward networks of a model or a stack, in their order."""
    return [part for part in module.modules() if isinstance(part, FeedForward)]


@contextmanager
def changed(networks: Iterable[FeedForward], change: Callable[[FeedForward], Change]) -> Iterator[None]:
    """Replace the hidden units of `networks` inside the `with` block.

    `change(network)` returns a function that maps the network's hidden units to their replacements.
    """

    def replace(new: Change) -> Callable[[nn.Module, tuple[Tensor], Tensor], Tensor]:
        return lambda _, __, hidden: new(hidden)

    with ExitStack() as stack:
        for network in networks:
            stack.enter_context(hooking(network.activation.register_forward_hook, replace(change(network))))
        yield


def largest(count: int) -> Callable[[FeedForward], Change]:
    """Return a change that keeps the `count` units that contribute most, for each token, and zeroes the rest.

    A unit contributes its activation times the length of its column of the second matrix.
    """

    def of(network: FeedForward) -> Change:
        lengths = network.contract.weight.norm(dim=0)

        def keep(hidden: Tensor) -> Tensor:
            kept = (hidden.abs() * lengths).topk(count, dim=-1).indices
            return torch.zeros_like(hidden).scatter(-1, kept, hidden.gather(-1, kept))

        return keep

    return of


def unit_set(unit: int, value: float, *, token: int) -> Callable[[FeedForward], Change]:
    """Return a change that sets one unit of one token of each sentence to `value`."""

    def put(hidden: Tensor) -> Tensor:
        hidden = hidden.clone()
        hidden[..., token, unit] = value
        return hidden

    return lambda _: put
