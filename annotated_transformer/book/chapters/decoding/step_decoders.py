"""A step decoder of the chapter on decoding: a table of next words."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from annotated_transformer.model.transformer import Transformer

END = "</s>"


class TableDecoder:
    """A table of next words as a step decoder; a text that is not in the table ends."""

    def __init__(
        self, table: Mapping[str, Mapping[str, float]], names: Sequence[str], model: Transformer, src: Tensor
    ) -> None:
        """Begin with one empty text for each source; `names` are the words by their ids."""
        self.table, self.names, self.texts, self.steps = table, names, [""] * len(src), 0

    def step(self, tokens: Tensor) -> Tensor:
        """Append a word to each text, or nothing for a special token, and return the logits of the next."""
        self.steps += 1
        words = [self.names[token] if token > 2 else "" for token in tokens.tolist()]
        self.texts = [f"{text} {word}".strip() for text, word in zip(self.texts, words, strict=True)]
        rows = [self.table.get(text, {END: 1.0}) for text in self.texts]
        shares = [[row.get(name, 0.0) for name in self.names] for row in rows]
        return torch.tensor(shares, dtype=torch.float64).log()

    def select(self, rows: Tensor) -> None:
        """Keep some texts."""
        self.texts = [self.texts[row] for row in rows.tolist()]
