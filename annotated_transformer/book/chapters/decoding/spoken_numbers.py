"""Numbers whose digits are read out in one of several languages: a task with many right outputs.

The ids 3 to 12 are the digits, and the words of each digit follow, `sayings` for each.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID

FIRST_DIGIT = EOS_ID + 1
FIRST_WORD = FIRST_DIGIT + 10


def spoken_numbers(
    count: int, digits: int, *, sayings: int, rng: torch.Generator
) -> tuple[Int[Tensor, "count src_tokens"], Int[Tensor, "count tgt_tokens"]]:
    """Draw numbers, and one of the ways to read out each."""
    drawn = torch.randint(10, (count, digits), generator=rng)
    words = FIRST_WORD + sayings * drawn + torch.randint(sayings, drawn.shape, generator=rng)
    first, last = torch.full((count, 1), BOS_ID), torch.full((count, 1), EOS_ID)
    return torch.cat([drawn + FIRST_DIGIT, last], 1), torch.cat([first, words, last], 1)


def share_right(
    numbers: Int[Tensor, "count src_tokens"], ids: Int[Tensor, "count out_tokens"], *, sayings: int
) -> float:
    """Return the share of outputs with one right word for each digit, and an end."""
    digits = numbers.size(1) - 1
    ids = F.pad(ids, (0, max(0, digits + 2 - ids.size(1))))
    said = (ids[:, :digits] - FIRST_WORD).div(sayings, rounding_mode="floor")
    each: Tensor = said == numbers[:, :-1] - FIRST_DIGIT
    ends = (ids[:, digits] == EOS_ID) & (ids[:, digits + 1] == PAD_ID)
    right: Float[Tensor, ""] = (each.all(dim=1) & ends).double().mean()
    return right.item()
