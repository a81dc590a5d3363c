"""Models of one stack: embedding, encoder layers, and logits by the same matrix."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.config import ModelConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.encoder import Encoder
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.loss import label_smoothed_cross_entropy
from annotated_transformer.model.parts import PaperParts
from annotated_transformer.model.trainable import TrainableModel


@refuses_other_kinds
class SingleStack(TrainableModel):
    """Embedding, one stack of encoder layers, and logits by the same matrix; subclasses choose the mask.

    `train` takes it. `save` and `load` do if it is made by its config alone, without `parts`.
    """

    def __init__(self, config: ModelConfig, parts: PaperParts | None = None) -> None:
        """Build `config.num_layers` layers of `parts`, by default the paper's, and initialize them."""
        super().__init__()
        for name, possible in (("tied_output", True), ("output_bias", False)):
            if (value := getattr(config, name)) != possible:
                raise ValueError(
                    f"{name}={value}, and a {type(self).__name__} computes logits by the matrix of the "
                    f"embedding alone; leave {name} out"
                )
        parts = parts or PaperParts(config)
        self.config = config
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        self.positions = parts.positions()
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder((parts.encoder_layer() for _ in range(config.num_layers)), parts.final_norm())
        initialize(self)

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens vocab"]:
        """Return logits at each position."""
        return self.logits(self.hidden(ids))

    def hidden(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens d_model"]:
        """Return the output of the stack, from which `logits` computes the logits."""
        hidden: Tensor = self.encoder(self.embed(ids), self.mask(ids))
        return hidden

    def embed(
        self, ids: Int[Tensor, "batch tokens"], start: int = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Return embeddings plus positions from `start` on, with dropout."""
        embedded: Tensor = self.dropout(self.positions(self.embedding(ids), start))
        return embedded

    def logits(self, hidden: Float[Tensor, "batch tokens d_model"]) -> Float[Tensor, "batch tokens vocab"]:
        """Return a logit for each token of the vocabulary, using the shared matrix."""
        return self.embedding.logits(hidden)

    def cross_entropy(
        self,
        logits: Float[Tensor, "batch tokens vocab"],
        labels: Int[Tensor, "batch tokens"],
        smoothing: float | int = 0.0,
    ) -> Float[Tensor, ""]:
        """Return the cross-entropy in nats, the mean over all labels but padding."""
        pad_id = self.config.pad_id
        return label_smoothed_cross_entropy(logits, labels, smoothing=float(smoothing), pad_id=pad_id)

    def mask(self, ids: Int[Tensor, "batch tokens"]) -> Bool[Tensor, "batch 1 _queries tokens"]:
        """Return where each token may attend."""
        raise NotImplementedError("SingleStack has no mask; use DecoderOnly or EncoderOnly")
