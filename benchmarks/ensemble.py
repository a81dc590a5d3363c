"""Several models that translate as one, by the mean of their log-probabilities at each step."""

from collections.abc import Sequence
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.decoding.kv_cache import cached_or_not
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.trainable import StepDecoder
from annotated_transformer.model.transformer import Transformer


class MeanDecoder:
    """A `StepDecoder` whose logits are the mean of those of others.

    Logits are log-probabilities but for a constant, so this is also the mean of the log-probabilities, which
    every search normalizes.
    """

    def __init__(self, decoders: Sequence[StepDecoder]) -> None:
        self.decoders = decoders

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        """Append one token to each target of each decoder, and return the mean logits of the next token."""
        return torch.stack([decoder.step(tokens) for decoder in self.decoders]).mean(dim=0)

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows in this order; a row may be omitted or repeated."""
        for decoder in self.decoders:
            decoder.select(rows)


def ensemble(folders: Sequence[Path], *, device: torch.device | str = "cpu") -> Translator:
    """Return a translator that searches with all the models in `folders`.

    Raises:
        ValueError: If their tokenizers differ, so that an id is not the same token for all.
    """
    loaded = [checkpoint.load(folder) for folder in folders]
    tokenizer = loaded[0][1]
    for folder, (_, other) in zip(folders, loaded, strict=True):
        if other.to_json() != tokenizer.to_json():
            raise ValueError(
                f"the models in {folders[0]} and {folder} have different tokenizers, so their probabilities "
                f"have no mean; train all of them on the same pairs, with the same vocab_size"
            )
    models = [model.to(device) for model, _ in loaded]

    def decoder(_: Transformer, src: Int[Tensor, "batch src_tokens"]) -> MeanDecoder:
        return MeanDecoder([cached_or_not(model, src) for model in models])

    return Translator(models[0], tokenizer, decoder=decoder, languages=checkpoint.read_languages(folders[0]))
