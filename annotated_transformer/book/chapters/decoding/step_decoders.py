"""Step decoders of the chapter on decoding: a table, and caches with the mistakes that people make."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.model.cacheable import PastAttention
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


class SamePosition(KeyValueCache):
    """A mistake: each token gets position 0."""

    def step(self, tokens: Tensor) -> Tensor:
        """Forget how many tokens there are."""
        self.length = 0
        return super().step(tokens)


class Stale(KeyValueCache):
    """A mistake: the cache begins with the keys and values of another sentence."""

    def __init__(self, model: Transformer, src: Tensor) -> None:
        """Decode a few tokens of another sentence, and count from 0 again."""
        super().__init__(model, src)
        for token in (1, 5, 6):
            super().step(torch.full((len(src),), token))
        self.length = 0


class Unordered(KeyValueCache):
    """A mistake: each row's cache stays where it is, whichever rows the beam kept."""

    def select(self, rows: Tensor) -> None:
        """Change the number of rows, but not their order."""
        super().select(torch.arange(len(rows)).clamp(max=self.rows - 1))


class WithoutItself(KeyValueCache):
    """A mistake: the new key is appended after the attention."""

    def __init__(self, model: Transformer, src: Tensor) -> None:
        """Replace how each layer reads the past."""
        super().__init__(model, src)
        _read_by(self, lambda past, _: past)


class FirstKeyOnly(KeyValueCache):
    """A mistake: a causal mask for one query, aligned with the first key, hides all others."""

    def __init__(self, model: Transformer, src: Tensor) -> None:
        """Replace how each layer reads the past."""
        super().__init__(model, src)
        _read_by(self, lambda _, all_so_far: (all_so_far[0][:, :, :1], all_so_far[1][:, :, :1]))


Pair = tuple[Tensor, Tensor]


def _read_by(cache: KeyValueCache, choose: Callable[[Pair, Pair], Pair]) -> None:
    """Let each layer read what `choose` takes from the keys and values before and after the new token."""

    def read(attention: PastAttention, key: Tensor, value: Tensor) -> Pair:
        before = attention.pairs
        return choose(before, PastAttention.project_memory(attention, key, value))

    for layer in cache.layers:
        attention = layer.self_attention
        attention.project_memory = partial(read, attention)  # type: ignore[method-assign]
