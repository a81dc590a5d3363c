"""A task in which one word decides, and encoders that solve it while one map hides where they looked."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.book.toy.fitting import fit, rise_stay_fall
from annotated_transformer.config import TransformerConfig
from annotated_transformer.inspection.observation import watching
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.schedule import BETAS

MOODS = ("happy", "sad", "angry", "calm")
OTHERS = tuple(
    "my dog your cat our bird old new here there now then this that was is with from and or".split()
)
MOOD_WORDS = ("<pad>", "[class]", *MOODS, *OTHERS, ".")
LENGTH = 10  # [class], eight words, and a period


class MoodSentences(NamedTuple):
    """Sentences with one mood word among seven others, its position, and which mood it is."""

    ids: Int[Tensor, "batch tokens"]
    position: Int[Tensor, " batch"]
    mood: Int[Tensor, " batch"]

    def with_moods(self, mood: Int[Tensor, " batch"]) -> "MoodSentences":
        """Return the same sentences with other moods."""
        ids = self.ids.scatter(1, self.position[:, None], (mood + 2)[:, None])
        return MoodSentences(ids, self.position, mood)


def mood_sentences(count: int, rng: torch.Generator) -> MoodSentences:
    """Draw sentences."""
    first, end = 2 + len(MOODS), len(MOOD_WORDS) - 1
    ids = torch.randint(first, end, (count, LENGTH), generator=rng)
    ids[:, 0], ids[:, -1] = MOOD_WORDS.index("[class]"), end
    position = torch.randint(1, LENGTH - 1, (count,), generator=rng)
    drawn = torch.randint(len(MOODS), (count,), generator=rng)
    return MoodSentences(ids, position, drawn).with_moods(drawn)


class MoodReader(nn.Module):
    """An encoder with a single head per layer, and a linear map from the vector of [class] to a mood."""

    def __init__(self, *, num_layers: int, through_period: bool) -> None:
        """Make the model; `through_period` lets [class] attend to the period alone, in each layer."""
        super().__init__()
        shape = TransformerConfig(
            vocab_size=len(MOOD_WORDS), max_length=LENGTH, num_layers=num_layers, num_heads=1, d_model=32,
            d_ff=64, dropout=0.0,
        )  # fmt: skip
        self.model, self.to_mood = Transformer(shape), nn.Linear(shape.d_model, len(MOODS))
        mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
        if through_period:
            mask[0, :-1] = False
        self.mask: Bool[Tensor, "tokens tokens"] = mask

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch moods"]:
        """Return a logit for each mood."""
        z = self.model.encoder(self.model.embed(ids), self.mask)
        logits: Tensor = self.to_mood(z[:, 0])
        return logits

    def maps(self, ids: Int[Tensor, "batch tokens"]) -> list[Float[Tensor, "batch queries keys"]]:
        """Return the attention weights of each layer."""
        with watching(layer.self_attention.attention for layer in self.model.encoder.layers) as seen:  # type: ignore[union-attr, misc]
            self(ids)
        return [weights[:, 0] for weights in seen]


def fit_moods(*, num_layers: int, through_period: bool, seed: int, updates: int = 300) -> MoodReader:
    """Train a reader on batches of 32 sentences."""
    reader, rng = MoodReader(num_layers=num_layers, through_period=through_period), torch.Generator()
    initialize(reader, rng.manual_seed(seed))

    def draw_loss() -> Tensor:
        drawn = mood_sentences(32, rng)
        return F.cross_entropy(reader(drawn.ids), drawn.mood)

    fit(
        reader,
        draw_loss,
        steps=updates,
        lr=lambda step: 5e-3 * rise_stay_fall(step, updates),
        betas=BETAS,
    )
    return reader.eval().requires_grad_(False)
