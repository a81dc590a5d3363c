"""Two tasks about positions, the symbol three places back and the latest capital, for small models."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from annotated_transformer.book.chapters.from_here_to_modern_models.stacks import PreNormParts
from annotated_transformer.book.toy.fitting import fit
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.positional_encoding import LearnedPositions, SinusoidalPositions
from annotated_transformer.modern.alibi import ALiBi
from annotated_transformer.modern.biased_attention import BiasedAttention
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.modern.modern_parts import NoPositions
from annotated_transformer.modern.relative_bias import RelativeBias
from annotated_transformer.modern.rotary import RotaryAttention, RotaryPositions
from annotated_transformer.modern.single_stack import SingleStack
from annotated_transformer.training.schedule import BETAS

FIRST_SYMBOL, SYMBOLS, BACK = 3, 12, 3  # in the second task, the last third of the symbols are capitals
CAPITAL = FIRST_SYMBOL + 2 * SYMBOLS // 3  # the first of them
D_MODEL, HEADS = 32, 4
LONGEST = 128  # tokens, of tables and tests

ADDED: dict[str, Callable[[], nn.Module]] = {  # what is added to the embedded tokens
    "sinusoids": lambda: SinusoidalPositions(D_MODEL, LONGEST),
    "learned": lambda: LearnedPositions(D_MODEL, LONGEST),
}
INSIDE: dict[str, Callable[[], nn.Module]] = {  # what is in place of plain attention
    "rotary": lambda: RotaryAttention(RotaryPositions(D_MODEL // HEADS)),
    "ALiBi": lambda: BiasedAttention(ALiBi(HEADS)),
    "relative bias": lambda: BiasedAttention(RelativeBias(HEADS, 8)),
}


class Parts(PreNormParts):
    """The parts of a small pre-norm model, with one of the kinds of positions, or with none."""

    def __init__(self, config: TransformerConfig, kind: str) -> None:
        """Store the config and the kind."""
        super().__init__(config)
        self.kind = kind

    def attention(self, place: str = "encoder") -> MultiHeadAttention:
        """Return attention with what the kind has inside."""
        inside = INSIDE[self.kind]() if self.kind in INSIDE else None
        return MultiHeadAttention(self.config.d_model, self.config.num_heads, attention=inside)

    def positions(self) -> nn.Module:
        """Return what the kind adds."""
        return ADDED[self.kind]() if self.kind in ADDED else NoPositions()


class Asked(NamedTuple):
    """Sequences of symbols, what each position is asked for, and whether it is: the answer may not exist."""

    ids: Int[Tensor, "batch tokens"]
    wanted: Int[Tensor, "batch tokens"]
    asked: Bool[Tensor, "batch tokens"]


def third_before(count: int, tokens: int, rng: torch.Generator) -> Asked:
    """Ask each position for the symbol `BACK` places before."""
    ids = torch.randint(FIRST_SYMBOL, FIRST_SYMBOL + SYMBOLS, (count, tokens), generator=rng)
    return Asked(ids, ids.roll(BACK, dims=1), (torch.arange(tokens) >= BACK).expand_as(ids))


def latest_capital(count: int, tokens: int, rng: torch.Generator) -> Asked:
    """Ask each position for the latest capital up to there."""
    ids = torch.randint(FIRST_SYMBOL, FIRST_SYMBOL + SYMBOLS, (count, tokens), generator=rng)
    place = torch.arange(tokens).expand_as(ids).masked_fill(ids < CAPITAL, -1).cummax(dim=1).values
    return Asked(ids, ids.gather(1, place.clamp(min=0)), place >= 0)


Task = Callable[[int, int, torch.Generator], Asked]


def rise_and_fall(update: int, updates: int, max_lr: float) -> float:
    """Return the learning rate of an update: it rises for 20, is the highest until half, and falls to 0."""
    return max_lr * min((update + 1) / 20, 2 - 2 * (update + 1) / updates, 1)


def fit_task(
    task: Task, kind: str, *, seed: int, updates: int, max_lr: float, family: type[SingleStack] = DecoderOnly
) -> SingleStack:
    """Train a model of one layer on sequences of 16 symbols."""
    torch.manual_seed(seed)
    config = TransformerConfig(
        vocab_size=FIRST_SYMBOL + SYMBOLS, max_length=LONGEST, num_layers=1, d_model=D_MODEL,
        d_ff=2 * D_MODEL, num_heads=HEADS, dropout=0.0,
    )  # fmt: skip
    model, rng = family(config, Parts(config, kind)), torch.Generator().manual_seed(seed)

    def draw_loss() -> Tensor:
        drawn = task(32, 16, rng)
        return nn.functional.cross_entropy(model(drawn.ids)[drawn.asked], drawn.wanted[drawn.asked])

    lr = partial(rise_and_fall, updates=updates, max_lr=max_lr)
    fit(model, draw_loss, steps=updates, lr=lr, betas=BETAS)
    return model.eval().requires_grad_(False)


def share_found(task: Task, model: SingleStack, tokens: int, *, count: int = 60) -> float:
    """Return the share of right answers on new sequences of this many tokens."""
    drawn = task(count, tokens, torch.Generator().manual_seed(99))
    right = model(drawn.ids).argmax(dim=-1) == drawn.wanted
    return right[drawn.asked].double().mean().item()
