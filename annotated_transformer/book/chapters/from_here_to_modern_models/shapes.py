"""Toy images for a vision transformer: a cross and a square, one of them further left."""

from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.book.chapters.from_here_to_modern_models.lookback import Parts, rise_and_fall
from annotated_transformer.book.chapters.from_here_to_modern_models.stacks import PreNormParts
from annotated_transformer.book.toy.fitting import fit
from annotated_transformer.config import TransformerConfig
from annotated_transformer.modern.vision import VisionTransformer

SIDE, PATCH, NOISE = 12, 4, 0.15
CROSS = ((0.0, 1.0, 0.0), (1.0, 1.0, 1.0), (0.0, 1.0, 0.0))
SQUARE = ((1.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 1.0))


class Images(NamedTuple):
    """Images, and 1 where the cross is further left than the square."""

    pixels: Float[Tensor, "batch 1 height width"]
    labels: Int[Tensor, " batch"]


def draw_images(count: int, rng: torch.Generator) -> Images:
    """Put a cross and a square into two patches of different columns, with some noise."""
    per_side = SIDE // PATCH
    rows = torch.randint(per_side, (count, 2), generator=rng)
    columns = torch.rand(count, per_side, generator=rng).argsort(dim=1)[:, :2]
    pixels = NOISE * torch.rand(count, 1, SIDE, SIDE, generator=rng)
    for number, shape in enumerate(map(torch.tensor, (CROSS, SQUARE))):
        corners = PATCH * torch.stack([rows[:, number], columns[:, number]], dim=1)
        for image, (top, left) in zip(pixels, corners.tolist(), strict=True):
            image[0, top : top + 3, left : left + 3] += shape
    return Images(pixels, (columns[:, 0] < columns[:, 1]).long())


def untrained_vision(*, positions: bool, seed: int) -> VisionTransformer:
    """Return a vision transformer of two layers, with learned positions or without any."""
    torch.manual_seed(seed)
    config = TransformerConfig(
        vocab_size=3, max_length=(SIDE // PATCH) ** 2, num_layers=2, d_model=32, d_ff=64, num_heads=4,
        dropout=0.0, positions="learned",
    )  # fmt: skip
    parts = PreNormParts(config) if positions else Parts(config, "without")
    return VisionTransformer(config, patch_size=PATCH, channels=1, num_classes=2, parts=parts)


def fit_vision(*, positions: bool, seed: int, updates: int = 150) -> VisionTransformer:
    """Train such a model on batches of 32 images."""
    model = untrained_vision(positions=positions, seed=seed)
    rng = torch.Generator().manual_seed(seed)

    def draw_loss() -> Tensor:
        drawn = draw_images(32, rng)
        return nn.functional.cross_entropy(model(drawn.pixels), drawn.labels)

    fit(model, draw_loss, steps=updates, lr=partial(rise_and_fall, updates=updates, max_lr=0.01))
    return model.eval().requires_grad_(False)


def share_seen(model: VisionTransformer, images: Images) -> float:
    """Return the share of images that are classified right."""
    return (model(images.pixels).argmax(dim=-1) == images.labels).double().mean().item()
