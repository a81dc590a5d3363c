"""Models and attentions that are not in the package, as a user may write them."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.attention import ScaledDotProductAttention, masked_softmax
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.masks import decoder_mask, padding_mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PreNorm
from annotated_transformer.model.positional_encoding import SinusoidalPositions
from annotated_transformer.model.trainable import DecodeAgain, StepDecoder, TrainableModel
from annotated_transformer.modern.grouped_query_attention import GroupedQueryAttention
from annotated_transformer.text.batching import Batch, ClassBatch, Pair

SHAPE = TransformerConfig(
    vocab_size=17, max_length=23, num_layers=2, d_model=12, d_ff=14, num_heads=3, dropout=0.0
)


class Stack(TrainableModel):
    """Embedding, positions, and a stack of encoder layers."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        self.positions = SinusoidalPositions(config.d_model, config.max_length)
        layers = [
            EncoderLayer(
                MultiHeadAttention(config.d_model, config.num_heads),
                FeedForward(config.d_model, config.d_ff),
                PreNorm(config.d_model, config.dropout),
                PreNorm(config.d_model, config.dropout),
            )
            for _ in range(config.num_layers)
        ]
        self.encoder = Encoder(layers, LayerNorm(config.d_model))

    def hidden(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.encoder(self.positions(self.embedding(ids)), mask)


class LanguageModel(Stack):
    """A decoder-only model: the same stack with a causal mask."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        initialize(self)

    def forward(self, ids: Tensor) -> Tensor:
        return self.embedding.logits(self.hidden(ids, decoder_mask(ids, self.config.pad_id)))

    def loss(self, batch: Batch, *, smoothing: float) -> Tensor:
        logits, labels = self(batch.decoder_input).flatten(0, 1), batch.labels.flatten()
        pad_id = self.config.pad_id
        return F.cross_entropy(logits, labels, ignore_index=pad_id, label_smoothing=smoothing)

    def start(self, src: Tensor) -> tuple[StepDecoder, Tensor]:
        return DecodeAgain(self, src), src


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig(TransformerConfig):
    """Adds the number of classes."""

    num_classes: int = 5


class Classifier(Stack):
    """An encoder-only model: the mean of the tokens gives a logit for each class."""

    config_type = ClassifierConfig
    batch_type = ClassBatch

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__(config)
        self.to_logits = nn.Linear(config.d_model, config.num_classes)
        initialize(self)

    def forward(self, ids: Tensor) -> Tensor:
        mask = padding_mask(ids, self.config.pad_id)
        real = mask[:, 0, 0, :, None]
        return self.to_logits((self.hidden(ids, mask) * real).sum(1) / real.sum(1))

    def loss(self, batch: ClassBatch, *, smoothing: float) -> Tensor:
        return F.cross_entropy(self(batch.src), batch.classes, label_smoothing=smoothing)


class RelativeAttention(ScaledDotProductAttention):
    """A learned bias for each head and each distance, counted from the first key: a cache would be wrong."""

    def __init__(self, num_heads: int, longest: int = 5) -> None:
        super().__init__()
        self.longest = longest
        self.bias = nn.Parameter(torch.zeros(num_heads, 2 * longest + 1))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Tensor:
        places = [torch.arange(x.size(-2)) for x in (query, key)]
        distance = (places[1] - places[0][:, None]).clamp(-self.longest, self.longest)
        scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
        return self.weights(masked_softmax(scores + self.bias[:, distance + self.longest], mask)) @ value


def grouped(config: TransformerConfig, place: str) -> nn.Module:
    return GroupedQueryAttention(config.d_model, config.num_heads, num_kv_heads=1)


def relative(config: TransformerConfig, place: str) -> nn.Module:
    own = None if place == "cross" else RelativeAttention(config.num_heads)
    return MultiHeadAttention(config.d_model, config.num_heads, attention=own)


def sequences(count: int, *, seed: int = 0) -> list[Pair]:
    """Return sequences that count up from a random word, for a language model."""
    rng = torch.Generator().manual_seed(seed)
    starts = torch.randint(4, 11, (count,), generator=rng).tolist()
    return [([], [1, *range(start, start + 2 + row % 5), 2]) for row, start in enumerate(starts)]


def classes(count: int, *, seed: int = 0) -> list[Pair]:
    """Return sentences whose class is their number of words, 0 for one, and so on."""
    rng = torch.Generator().manual_seed(seed)
    words = [torch.randint(4, 17, (1 + row % 5,), generator=rng).tolist() for row in range(count)]
    return [([*own, 2], [len(own) - 1]) for own in words]


def make(kind: type[Stack], seed: int = 0, **changes: object) -> Stack:
    torch.manual_seed(seed)
    return kind(kind.config_type(**{**asdict(SHAPE), **changes}))
