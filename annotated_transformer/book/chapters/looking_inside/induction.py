"""An attention-only model that continues repeated sequences."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PreNorm
from annotated_transformer.model.positional_encoding import SinusoidalPositions


class AttentionOnly(nn.Module):
    """A decoder-only model of 16 symbols without feed-forward networks, in pre-norm."""

    def __init__(self, *, num_layers: int) -> None:
        """Make a model with one head per layer, for up to 16 tokens."""
        super().__init__()
        self.embedding = TokenEmbedding(16, 32)
        self.positions = SinusoidalPositions(32, 16)
        layers = range(num_layers)
        self.attentions = nn.ModuleList(MultiHeadAttention(32, 1) for _ in layers)
        self.add_norms = nn.ModuleList(PreNorm(32, dropout=0.0) for _ in layers)
        self.final_norm, self.to_logits = LayerNorm(32), nn.Linear(32, 16)

    def forward(
        self,
        ids: Int[Tensor, "batch tokens"],
    ) -> Float[Tensor, "batch tokens symbols"]:
        """Return the logits of the symbol that follows each position."""
        x, mask = self.positions(self.embedding(ids)), causal_mask(ids.size(1))
        for attention, add_norm in zip(self.attentions, self.add_norms, strict=True):
            x = add_norm(x, lambda y, attend=attention: attend(y, y, y, mask))
        logits: Tensor = self.to_logits(self.final_norm(x))
        return logits
