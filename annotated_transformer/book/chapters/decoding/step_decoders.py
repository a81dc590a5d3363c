"""Step decoders of the chapter on decoding: a table, and caches with the mistakes that people make."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.model.cacheable import AttentionCache
from annotated_transformer.model.decoder import decoder_layers
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
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

    def __init__(self, model: Transformer, src: Tensor) -> None:
        """Embed each token as the first one."""
        super().__init__(model, src)
        self.model = copy(model)
        self.model.embed = self.embed_as_first  # type: ignore[method-assign]

    def embed_as_first(self, ids: Tensor, start: int = 0) -> Tensor:
        """Ignore how many tokens precede."""
        return Transformer.embed(self.model, ids)


class Stale(KeyValueCache):
    """A mistake: the cache begins with the keys and values of another sentence."""

    def __init__(self, model: Transformer, src: Tensor) -> None:
        """Decode a few tokens of another sentence, and count from 0 again."""
        super().__init__(model, src)
        for token in (1, 5, 6):
            super().step(torch.full((len(src),), token))
        self.tgt = src[:, :0]
        _read_by(self, lambda all_so_far, new: all_so_far)


class Unordered(KeyValueCache):
    """A mistake: each row's cache stays where it is, whichever rows the beam kept."""

    def select(self, rows: Tensor) -> None:
        """Change the number of rows, but not their order."""
        super().select(torch.arange(len(rows)).clamp(max=len(self.tgt) - 1))


class WithoutItself(KeyValueCache):
    """A mistake: the new key is appended after the attention."""

    def __init__(self, model: Transformer, src: Tensor) -> None:
        """Replace how each layer reads the past."""
        super().__init__(model, src)
        _read_by(self, lambda all_so_far, new: all_so_far[:, :, :-new])


class FirstKeyOnly(KeyValueCache):
    """A mistake: a causal mask for one query, aligned with the first key, hides all others."""

    def __init__(self, model: Transformer, src: Tensor) -> None:
        """Replace how each layer reads the past."""
        super().__init__(model, src)
        _read_by(self, lambda all_so_far, new: all_so_far[:, :, :1])


def _read_by(cache: KeyValueCache, choose: Callable[[Tensor, int], Tensor]) -> None:
    """Let each layer read what `choose` takes of its keys and values, the last `new` of which are new."""

    def read(pairs_so_far: AttentionCache, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = pairs_so_far(key, value)
        return choose(keys, key.size(1)), choose(values, key.size(1))

    def attend(
        attention: MultiHeadAttention, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
    ) -> Tensor:
        return type(attention).attend(attention, query, key, value)

    for layer in decoder_layers(cache.decoder):
        attention: Any = layer.self_attention
        attention.project_memory = partial(read, attention.project_memory)
        attention.attend = partial(attend, attention)
