"""The loss of the next tokens, without a trainer, and generation, without the decoding package."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.config import refuse_sizes
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.id_checks import warn_without_bos
from annotated_transformer.model.inference import evaluating, grow_targets, refuse_nan
from annotated_transformer.model.trainable import DecodeAgain
from annotated_transformer.modern.cache import DecoderOnlyCache
from annotated_transformer.modern.decoder_only import DecoderOnly


@refuses_other_kinds
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
    return model.cross_entropy(logits, labels)


@refuses_other_kinds
def continue_text(
    model: DecoderOnly,
    prompt: Int[Tensor, "batch tokens"],
    *,
    extra_tokens: int,
    generator: torch.Generator | None = None,
    logits_processors: Sequence[Callable[[Tensor], Tensor]] = (),
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return each prompt with up to `extra_tokens` more tokens, ended by `eos_id` and padded.

    With a `generator`, tokens are drawn from the model's distribution, after `logits_processors` such as
    `(Temperature(0.7), TopK(10))` have changed it; without one, the most likely token follows.
    """
    refuse_sizes(extra_tokens=extra_tokens)
    config = model.config
    if prompt.numel() == 0 or (prompt == config.pad_id).any():
        raise ValueError(
            f"a prompt of {tuple(prompt.shape)} is empty or has padding (pad_id={config.pad_id}); "
            f"give prompts of one length, each with bos_id={config.bos_id} at least"
        )
    warn_without_bos(prompt, config)

    def choose(logits: Float[Tensor, "rows vocab"]) -> Int[Tensor, " rows"]:
        for process in logits_processors:
            logits = process(logits)
        refuse_nan(logits)
        if generator is None:
            return logits.argmax(dim=-1)
        return torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0]

    limit = torch.full(prompt.shape[:1], int(extra_tokens), device=prompt.device)
    with evaluating(model):
        texts, prompt = model.start(prompt)
        if prompt.size(1) > 1 and isinstance(texts, DecoderOnlyCache | DecodeAgain):
            texts.read(prompt[:, :-1])
        elif prompt.size(1) > 1:  # a subclass decodes in a way of its own
            for tokens in prompt[:, :-1].unbind(1):
                texts.step(tokens)
        added = grow_targets(texts, prompt[:, -1:], limit, choose, config)
    return torch.cat([prompt, added], dim=1)
