"""The vision transformer: patches are a convolution, and the mean token gives the classes."""

import pytest
import torch
from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.parts import PaperParts
from annotated_transformer.modern.modern_parts import ModernParts, NoPositions
from annotated_transformer.modern.vision import Patches, VisionTransformer

BATCH, CHANNELS, ROWS, COLUMNS, SIZE, D_MODEL = 2, 3, 4, 5, 3, 14
EXACT = {"rtol": 1e-12, "atol": 1e-12}
CONFIG = TransformerConfig(
    vocab_size=3, max_length=16, num_layers=2, d_model=16, d_ff=24, num_heads=2, dropout=0.0
)


def test_oracle_patches_are_a_convolution_whose_stride_is_its_size(draw, randomized):
    patches = randomized(Patches(SIZE, CHANNELS, D_MODEL))
    images = draw(BATCH, CHANNELS, ROWS * SIZE, COLUMNS * SIZE)
    theirs = nn.Conv2d(CHANNELS, D_MODEL, SIZE, stride=SIZE).double()
    with torch.no_grad():
        theirs.weight.copy_(patches.to_token.weight.unflatten(1, (CHANNELS, SIZE, SIZE)))
        theirs.bias.copy_(patches.to_token.bias)
    tokens = patches(images)
    assert tokens.shape == (BATCH, ROWS * COLUMNS, D_MODEL)
    torch.testing.assert_close(tokens, theirs(images).flatten(2).transpose(1, 2), **EXACT)


def test_law_patches_are_read_row_by_row():
    patches = Patches(2, 1, 4)
    with torch.no_grad():
        patches.to_token.weight.copy_(torch.eye(4))
        patches.to_token.bias.zero_()
    image = torch.arange(24.0).view(1, 1, 4, 6)
    assert patches(image)[0, :2].tolist() == [[0, 1, 6, 7], [2, 3, 8, 9]]
    assert patches(image)[0, 3].tolist() == [12, 13, 18, 19]


def test_law_only_positions_tell_where_a_patch_is():
    images = torch.randn(BATCH, 1, 8, 8)
    swapped = images.roll(4, dims=2)  # the upper patches below the lower ones
    options = {"patch_size": 4, "channels": 1, "num_classes": 5}
    blind = VisionTransformer(CONFIG, **options)
    blind.positions = NoPositions()
    torch.testing.assert_close(blind(images), blind(swapped))
    for parts in (PaperParts(CONFIG), ModernParts(CONFIG)):  # added to the tokens; rotary, in reading order
        model = VisionTransformer(CONFIG, **options, parts=parts)
        mean = model.encoder(model.positions(model.patches(images))).mean(dim=1)
        torch.testing.assert_close(model(images), mean @ model.to_classes.weight.T + model.to_classes.bias)
        assert (model(images) - model(swapped)).abs().max() > 1e-3


@pytest.mark.message
def test_message_images_that_do_not_split():
    with pytest.raises(
        ValueError, match=r"^images of 8 by 9 do not split into patches of 4 by 4; crop or pad"
    ):
        VisionTransformer(CONFIG, patch_size=4, channels=1, num_classes=2)(torch.zeros(1, 1, 8, 9))
