"""Training a decoder-only model to predict each next token, and generating with a cache."""

from collections.abc import Callable, Sequence
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.model.encoder import EncoderLayer
from annotated_transformer.model.id_checks import check_ids
from annotated_transformer.model.inference import evaluating, suppress_tokens
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.modern.single_stack import DecoderOnly


def next_token_loss(
    model: DecoderOnly,
    ids: Int[Tensor, "batch tokens"],
    counted: Bool[Tensor, "batch tokens"] | None = None,
) -> Float[Tensor, ""]:
    r"""Return $-\log p(x_t \mid x_{<t})$ in nats, the mean over all tokens but the first and padding.

    `counted` is True for the tokens whose prediction counts; by default, all. The tokens of a question, say,
    are read, and need not be predicted.
    """
    logits, labels = model(ids[:, :-1]), ids[:, 1:]
    if counted is not None:
        labels = labels.masked_fill(~counted[:, 1:], model.config.pad_id)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=model.config.pad_id)


class DecoderOnlyCache:
    """Texts, one per row, that start empty and grow; the keys and values of their tokens are kept.

    It calls the modules inside each layer, whatever their kind, so that RMSNorm, rotary positions, grouped
    queries and others need no cache of their own.
    """

    def __init__(self, model: DecoderOnly, rows: int) -> None:
        """Start `rows` empty texts."""
        self.model, self.rows, self.length = model, rows, 0
        nothing = model.embedding.weight.new_zeros(rows, 0, model.config.d_model)
        self.layers = cast(list[EncoderLayer], list(model.encoder.layers))
        self.pasts = [layer.self_attention.project_memory(nothing, nothing) for layer in self.layers]

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each text, and return the logits of the next token."""
        return self.read(tokens[:, None])

    def read(self, ids: Int[Tensor, "rows tokens"]) -> Float[Tensor, "rows vocab"]:
        """Append several tokens to each text at once, and return the logits of the next token.

        Raises:
            TypeError: If the tokens are not a tensor of integers.
            ValueError: If there are not as many rows as texts.
        """
        check_ids(ids)
        if len(ids) != self.rows:
            raise ValueError(f"{len(ids)} rows of tokens but {self.rows} texts; give a row for each")
        x, end = self.model.embed(ids, start=self.length), self.length + ids.size(1)
        mask = causal_mask(end, ids.device)[self.length :]
        for i, layer in enumerate(self.layers):
            x = self._through(i, layer, x, mask)
        self.length = end
        return self.model.logits(self.model.encoder.final_norm(x[:, -1:]))[:, 0]

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        self.rows = len(rows)
        self.pasts = [(key[rows], value[rows]) for key, value in self.pasts]

    def _through(self, i: int, layer: EncoderLayer, x: Tensor, mask: Tensor) -> Tensor:
        """Return what the layer returns for the new tokens."""

        def read_past(x: Tensor) -> Tensor:
            attention = layer.self_attention
            new = attention.project_memory(x, x)
            key, value = (torch.cat(pair, dim=2) for pair in zip(self.pasts[i], new, strict=True))
            self.pasts[i] = key, value
            return attention.attend(attention.project_query(x), key, value, mask)

        x = layer.add_norm_1(x, read_past)
        return layer.add_norm_2(x, layer.feed_forward)


def generate(
    model: DecoderOnly,
    prompt: Int[Tensor, "batch tokens"],
    *,
    steps: int,
    generator: torch.Generator | None = None,
    logits_processors: Sequence[Callable[[Tensor], Tensor]] = (),
) -> Int[Tensor, "batch longer"]:
    """Return each prompt with up to `steps` more tokens, ended by `eos_id` and padded.

    With a `generator`, tokens are drawn from the model's distribution, after `logits_processors` such as
    `(Temperature(0.7), TopK(10))` have changed it; without one, the most likely token follows.

    Raises:
        ValueError: If a prompt is empty or has padding: prompts of one length go together.
    """
    config = model.config
    if prompt.size(1) == 0 or (prompt == config.pad_id).any():
        raise ValueError(
            f"a prompt of {tuple(prompt.shape)} is empty or has padding (pad_id={config.pad_id}); "
            f"give prompts of one length, each with bos_id={config.bos_id} at least"
        )
    ids, ended = prompt, torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    with evaluating(model):
        texts = DecoderOnlyCache(model, len(prompt))
        for _ in range(steps):
            logits = suppress_tokens(texts.read(ids[:, texts.length :]), config)
            for process in logits_processors:
                logits = process(logits)
            if generator is None:
                token = logits.argmax(dim=-1)
            else:
                token = torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0]
            token = token.masked_fill(ended, config.pad_id)
            ids = torch.cat([ids, token[:, None]], dim=1)
            ended |= token == config.eos_id
            if ended.all():
                break
    return ids
