"""Linear probes: what a linear map can read off the vectors of each layer."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.model.encoder import Encoder


@torch.no_grad()
def layer_outputs(
    encoder: Encoder, x: Float[Tensor, "batch tokens d_model"]
) -> Float[Tensor, "depths batch tokens d_model"]:
    """Return the input of a stack and the output of each of its layers, bottom up."""
    outputs = [x]
    for layer in encoder.layers:
        outputs.append(layer(outputs[-1]))
    return torch.stack(outputs)


def probe_accuracy(
    vectors: Float[Tensor, "samples d_model"],
    labels: Int[Tensor, " samples"],
    held_out: Bool[Tensor, " samples"],
) -> float:
    """Return the accuracy on the held-out samples of a linear map fitted to the others.

    The map is ridge regression on the labels as one-hot vectors, solved in closed form.
    """
    vectors = F.pad(vectors, (0, 1), value=1.0)
    classes = torch.unique(labels)
    targets = (labels[:, None] == classes).to(vectors.dtype)
    fitted = vectors[~held_out]
    squares, products = fitted.T @ fitted, fitted.T @ targets[~held_out]
    squares.diagonal().add_(1e-3 * len(fitted) * fitted.var())
    weight = torch.linalg.solve(squares, products)
    predicted = classes[(vectors[held_out] @ weight).argmax(dim=1)]
    return (predicted == labels[held_out]).double().mean().item()
