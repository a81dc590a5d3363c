"""An encoder that reads one class off its first token."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer


class MoodReader(nn.Module):
    """An encoder of one head per layer, and a linear map from the vector of [class]."""

    def __init__(
        self,
        *,
        num_words: int,
        num_layers: int,
        mask: Bool[Tensor, "tokens tokens"],
    ) -> None:
        """Make a model of sentences as long as the mask, with four moods."""
        super().__init__()
        shape = TransformerConfig(
            vocab_size=num_words, max_length=len(mask), num_layers=num_layers,
            num_heads=1, d_model=16, d_ff=32, dropout=0.0,
        )  # fmt: skip
        self.model, self.to_mood = Transformer(shape), nn.Linear(16, 4)
        self.mask = mask
        self.attentions = [layer.self_attention for layer in self.model.encoder.layers]

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch moods"]:
        """Return a logit for each mood."""
        vectors = self.model.encoder(self.model.embed(ids), self.mask)
        logits: Tensor = self.to_mood(vectors[:, 0])
        return logits
