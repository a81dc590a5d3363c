"""Decoding a decoder-only model step by step, with a cache of keys and values."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.model.cacheable import refuse_uncacheable, with_cache
from annotated_transformer.model.comparison import Comparison, Results, example_ids, step_results
from annotated_transformer.model.id_checks import check_ids, check_step
from annotated_transformer.model.plain import NotPlain, any_hook, hooks_of
from annotated_transformer.modern.single_stack import SingleStack


class DecoderOnlyCache:
    """Texts, one per row, that start empty and grow; the keys and values of their tokens are kept.

    It calls the modules inside each layer, whatever their kind, so that RMSNorm, rotary positions, grouped
    queries and others need no cache of their own: only the attentions are copies that remember.
    """

    def __init__(self, model: SingleStack, rows: int) -> None:
        """Start `rows` empty texts."""
        refuse_other_steps(model)
        self.model = model
        self.encoder, self.caches = with_cache(model.encoder)
        self.ids = torch.zeros(rows, 0, dtype=torch.int64, device=model.embedding.weight.device)

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each text, and return the logits of the next token."""
        check_step(tokens, len(self.ids), self.ids.size(1), self.model.config.max_length)
        return self.read(tokens[:, None])

    def read(self, ids: Int[Tensor, "rows tokens"]) -> Float[Tensor, "rows vocab"]:
        """Append several tokens to each text at once, and return the logits of the next token."""
        check_ids(ids)
        if len(ids) != len(self.ids):
            raise ValueError(f"{len(ids)} rows of tokens but {len(self.ids)} texts; give a row for each")
        x = self.model.embed(ids, start=self.ids.size(1))
        self.ids = torch.cat([self.ids, ids], dim=1)
        mask = self.model.mask(self.ids)[..., -ids.size(1) :, :]
        hidden = self.encoder(x, mask)
        return self.model.logits(hidden[:, -1:])[:, 0]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        self.ids = self.ids[rows]
        for cache in self.caches:
            cache.select(rows)


def _refuse(model: SingleStack) -> None:
    if any_hook(*hooks_of(model)):
        name = type(model).__name__
        raise NotPlain(f"{name} has hooks, which {NAME} would not call; remove them, or {WAY_OUT}")
    refuse_uncacheable("encoder", model.encoder, NAME, WAY_OUT)


def _results(model: SingleStack) -> Results:
    """Compare texts whose first tokens are read at once, as a prompt is, and then one by one."""
    ids = example_ids(model.config)[1].to(model.embedding.weight.device)
    prompt = min(5, ids.size(1) // 2)

    def begin(ids: Tensor) -> DecoderOnlyCache:
        texts = DecoderOnlyCache(model, len(ids))
        texts.read(ids[:, :prompt])
        return texts

    def whole(rest: Tensor) -> Tensor:
        logits: Tensor = model(torch.cat([ids[:, :prompt], rest], dim=1))
        return logits[:, prompt:]

    with torch.inference_mode():
        return step_results(begin, whole, ids, ids[:, prompt:])


NAME, WAY_OUT = "DecoderOnlyCache", "decode with DecodeAgain, as sample does"
refuse_other_steps = Comparison(NAME, WAY_OUT, refuse=_refuse, results=_results)
