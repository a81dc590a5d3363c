"""Pictures as sets of cells, each with a role and a word: for the chapter on queries, keys and values."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

ROLES = ("subject", "verb", "object", "background")
ANIMALS = ("dog", "cat", "bird", "fox")
VERBS = ("chases", "sees", "finds", "likes")
THINGS = ("ball", "boat", "kite", "lamp")
BACKDROPS = ("tree", "cloud", "hill", "lake")
SCENE_WORDS = ("<s>", *ANIMALS, *VERBS, *THINGS, *BACKDROPS)  # in the order of their ids
START = 0  # the id of "<s>", which stands before a caption and in no cell
FEATURES = len(ROLES) + len(SCENE_WORDS)
NOUNS = (*ANIMALS, *THINGS, *BACKDROPS)
CELLS = 16  # 4 × 4


@dataclass(frozen=True)
class Scenes:
    """Pictures: the role and the word of each cell, as numbers. Only the background has several cells."""

    roles: Int[Tensor, "batch cells"]
    words: Int[Tensor, "batch cells"]

    def features(self) -> Float[Tensor, "batch cells d_cell"]:
        """Return the vector of each cell: one feature for each role, then one for each word."""
        one_hot = F.one_hot(self.roles, len(ROLES)), F.one_hot(self.words, len(SCENE_WORDS))
        return torch.cat(one_hot, dim=-1).to(torch.get_default_dtype())

    def places(self) -> Int[Tensor, "batch 3"]:
        """Return the cells of the subject, the verb and the object."""
        return torch.stack([(self.roles == role).long().argmax(dim=1) for role in range(3)], dim=1)

    def captions(self) -> Int[Tensor, "batch 3"]:
        """Return the words of the subject, the verb and the object, such as "dog chases ball"."""
        return self.words.gather(1, self.places())

    def reordered(self, order: Int[Tensor, " cells"]) -> "Scenes":
        """Return the same cells in another order."""
        return Scenes(self.roles[:, order], self.words[:, order])


def draw_scenes(count: int, *, cells: int = CELLS, generator: torch.Generator) -> Scenes:
    """Draw scenes in which a noun may be subject or object: "dog sees lake", but also "lake sees dog".

    Subject and object differ. The background may contain any word.
    """
    return _draw(count, cells, generator, subject=NOUNS, object_=NOUNS, background=SCENE_WORDS[1:])


def draw_typical_scenes(count: int, *, cells: int = CELLS, generator: torch.Generator) -> Scenes:
    """Draw scenes in which each role has its own words: animals act on things, before a backdrop."""
    return _draw(count, cells, generator, subject=ANIMALS, object_=THINGS, background=BACKDROPS)


def _draw(
    count: int,
    cells: int,
    generator: torch.Generator,
    *,
    subject: Sequence[str],
    object_: Sequence[str],
    background: Sequence[str],
) -> Scenes:
    """Draw words for each role, and put the cells in a random order.

    Raises:
        ValueError: If there are too few cells.
    """
    if cells < 3:
        raise ValueError(f"cells={cells}; a scene has a subject, a verb and an object: give 3 or more")

    def choose(words: Sequence[str], width: int) -> Tensor:
        ids = torch.tensor([SCENE_WORDS.index(word) for word in words])
        return ids[torch.randint(len(ids), (count, width), generator=generator)]

    first, last = choose(subject, 1), choose(object_, 1)
    while (same := first == last).any():
        last = torch.where(same, choose(object_, 1), last)
    words = torch.cat([first, choose(VERBS, 1), last, choose(background, cells - 3)], dim=1)
    roles = torch.arange(cells).clamp(max=3).expand(count, cells)
    order = torch.rand(count, cells, generator=generator).argsort(dim=1)
    return Scenes(roles.gather(1, order), words.gather(1, order))


def swap_roles(scenes: Scenes) -> Scenes:
    """Return the scenes with the roles of subject and object exchanged, and each word in its place."""
    exchange = torch.tensor([2, 1, 0, 3])
    return Scenes(exchange[scenes.roles], scenes.words)


def caption_text(ids: Int[Tensor, " tokens"]) -> str:
    """Return a caption as text."""
    return " ".join(SCENE_WORDS[number] for number in ids.tolist())
