"""The toy images show what their labels say, and positions matter to who reads them."""

import pytest
import torch

from annotated_transformer.book.chapters.from_here_to_modern_models import shapes


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_law_images_contain_a_cross_and_a_square_on_the_side_that_the_label_says():
    drawn = shapes.draw_images(30, rng())
    for image, label in zip(drawn.pixels[:, 0], drawn.labels.tolist(), strict=True):
        patches = image.unfold(0, 4, 4).unfold(1, 4, 4)
        columns = {}
        for name, shape in (("cross", shapes.CROSS), ("square", shapes.SQUARE)):
            gaps = (patches[..., :3, :3] - torch.tensor(shape)).abs().amax(dim=(2, 3))
            assert (gaps < 0.2).sum() == 1
            columns[name] = int((gaps < 0.2).nonzero()[0, 1])
        assert label == int(columns["cross"] < columns["square"])
    assert 0.2 < drawn.labels.double().mean() < 0.8


def test_law_without_positions_patches_are_a_set_and_with_them_they_are_not():
    pixels = shapes.draw_images(5, rng()).pixels
    moved = pixels.unflatten(3, (3, 4)).flip(3).flatten(3)
    for positions in (False, True):
        model = shapes.untrained_vision(positions=positions, seed=0).eval()
        gap = (model(pixels) - model(moved)).abs().max().item()
        assert (gap < 1e-5) != positions


def test_law_share_seen_counts_right_classes():
    drawn = shapes.draw_images(20, rng())
    model = shapes.fit_vision(positions=True, seed=0, updates=1)
    right = shapes.share_seen(model, drawn)
    assert shapes.share_seen(model, shapes.Images(drawn.pixels, 1 - drawn.labels)) == pytest.approx(1 - right)
