"""A vision transformer: an image is cut into patches, and each patch is a token.

Dosovitskiy et al., *An Image is Worth 16x16 Words*, 2021, arXiv:2010.11929. The mean of all tokens is
classified, as in Beyer et al., 2022, arXiv:2205.01580, rather than a token that is added for it.
"""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.config import ModelConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.encoder import Encoder
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.parts import PaperParts


class Patches(nn.Module):
    """Cut images into squares, row by row, and map the numbers of each to a token: as a `TokenEmbedding`.

    It is a convolution whose stride is the size of its kernel.
    """

    def __init__(self, patch_size: int, channels: int, d_model: int) -> None:
        """Make the map from a patch to a token."""
        super().__init__()
        self.patch_size = patch_size
        self.to_token = nn.Linear(channels * patch_size**2, d_model)

    def forward(
        self, images: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Return a token for each patch."""
        size = self.patch_size
        if images.size(2) % size or images.size(3) % size:
            raise ValueError(
                f"images of {images.size(2)} by {images.size(3)} do not split into patches of {size} by "
                f"{size}; crop or pad them to multiples of {size}"
            )
        tokens: Tensor = self.to_token(F.unfold(images, size, stride=size).transpose(1, 2))
        return tokens


@refuses_other_kinds
class VisionTransformer(nn.Module):
    """Patches, positions, a stack of encoder layers without a mask, and logits of the mean token."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        patch_size: int,
        channels: int,
        num_classes: int,
        parts: PaperParts | None = None,
    ) -> None:
        """Build `config.num_layers` layers of `parts`; `config.vocab_size` and the ids are not used.

        The number of patches is at most `config.max_length`.
        """
        super().__init__()
        parts = parts or PaperParts(config)
        self.config = config
        self.patches = Patches(patch_size, channels, config.d_model)
        self.positions = parts.positions()
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder((parts.encoder_layer() for _ in range(config.num_layers)), parts.final_norm())
        self.to_classes = nn.Linear(config.d_model, num_classes)
        initialize(self)

    def forward(self, images: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch classes"]:
        """Return a logit for each class."""
        tokens = self.encoder(self.dropout(self.positions(self.patches(images))))
        logits: Tensor = self.to_classes(tokens.mean(dim=1))
        return logits
