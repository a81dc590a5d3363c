"""Sentences to sentences with a trained model: section 6.1, the chapter on decoding."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.checkpointing.checkpoint import check_tokenizer, load
from annotated_transformer.decoding.beam import beam_search
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.kv_cache import MakeDecoder
from annotated_transformer.decoding.length_penalty import LengthPenalty
from annotated_transformer.decoding.pretrained import EN_DE, pretrained_folder
from annotated_transformer.decoding.sampling import sample
from annotated_transformer.decoding.source_texts import Sources, encode_source_texts
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.inspection.observation import observe
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import Tokenizer, check_texts

Search = Callable[[Int[Tensor, "batch src_tokens"]], Int[Tensor, "batch tgt_tokens"]]


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation, how likely the model finds it, and what each of its tokens read.

    `log_prob` is the sum of the log-probabilities of its tokens: 0 is certain. The source's
    tokens end with EOS, and so do the target's unless it was cut short at the limit.
    `attention` is what the prediction of each target token read of each source token.
    """

    text: str
    log_prob: float
    source_tokens: list[str]
    target_tokens: list[str]
    attention: Float[Tensor, "layers heads tgt_tokens src_tokens"]


class Translator:
    """A model and its tokenizer, ready to translate.

    `decoder` is how steps are computed: `KeyValueCache` where hooks on the model's modules
    shall take part.
    """

    def __init__(
        self, model: Transformer, tokenizer: Tokenizer, *, decoder: MakeDecoder = FastKeyValueCache
    ) -> None:
        """Keep the two together.

        Raises:
            ValueError: If they differ in vocabulary size or special ids.
        """
        check_tokenizer(model.config, tokenizer)
        self.model = model
        self.tokenizer = tokenizer
        self.decoder = decoder

    @classmethod
    def from_folder(cls, folder: str | Path) -> "Translator":
        """Load what `checkpoint.save` wrote."""
        return cls(*load(folder))

    @classmethod
    def from_pretrained(cls, name: str = EN_DE) -> "Translator":
        """Load a model that comes with this package.

        Its card, `weights/<name>/README.md`, says what it was trained on, how well it does,
        and under which terms it may be passed on.

        Raises:
            ValueError: If there is none of that name.
        """
        return cls(*load(pretrained_folder(name)))

    def translate(
        self,
        texts: list[str],
        *,
        batch_size: int = 64,
        beam_size: int = 1,
        length_penalty: LengthPenalty | None = None,
    ) -> list[str]:
        """Return a translation of each text, in the same order.

        A `beam_size` of 1 is greedy search; `beam_search` says what a larger one is. Texts
        of like length share a batch.

        Raises:
            TypeError: If `texts` is one text, or holds something that is no text.
            ValueError: If a text is empty, too long or no Unicode, or a size is below 1.
        """
        return self._translations(texts, batch_size, self._beam(beam_size, length_penalty))

    def sample(
        self,
        texts: list[str],
        *,
        generator: torch.Generator,
        logits_processors: Sequence[Callable[[Tensor], Tensor]] = (),
        batch_size: int = 64,
    ) -> list[str]:
        """Return a translation of each text drawn at random, in the same order.

        The function `sample` says how; `generator` is on the model's device. Errors are those of
        `translate`.
        """

        def draw(src: Int[Tensor, "batch src_tokens"]) -> Int[Tensor, "batch tgt_tokens"]:
            return sample(
                self.model,
                src,
                generator=generator,
                logits_processors=logits_processors,
                decoder=self.decoder,
            )

        return self._translations(texts, batch_size, draw)

    def explain(
        self,
        texts: list[str],
        *,
        batch_size: int = 64,
        beam_size: int = 1,
        length_penalty: LengthPenalty | None = None,
    ) -> list[Translation]:
        """Return what `translate` returns, each with its log-probability, tokens and attention."""
        found: dict[int, Translation] = {}
        search = self._beam(beam_size, length_penalty)
        for rows, src, tgt in self._batches(texts, batch_size, search):
            seen = observe(self.model, src, tgt)
            lengths = [(ids != self.model.config.pad_id).sum(dim=1) for ids in (tgt, src)]
            for at, i in enumerate(rows):
                said, read = (int(length[at]) for length in lengths)
                found[i] = Translation(
                    self.tokenizer.decode([tgt[at].tolist()])[0],
                    float(seen.log_probs[at]),
                    self.tokenizer.tokens(src[at, :read].tolist()),
                    self.tokenizer.tokens(tgt[at, :said].tolist()),
                    seen.attention[at, :, :, :said, :read],
                )
        return [found[i] for i in range(len(texts))]

    def encode(self, texts: list[str]) -> Sources:
        """Return the ids of `texts`, and which of them `translate` would refuse, and why."""
        limit = self.model.config.max_length
        return encode_source_texts(self.tokenizer, texts, max_length=limit)

    def _beam(self, beam_size: int, length_penalty: LengthPenalty | None) -> Search:
        if beam_size == 1:
            return lambda src: greedy_search(self.model, src, decoder=self.decoder)

        def search(src: Int[Tensor, "batch src_tokens"]) -> Int[Tensor, "batch tgt_tokens"]:
            return beam_search(
                self.model,
                src,
                beam_size=beam_size,
                length_penalty=length_penalty,
                decoder=self.decoder,
            ).ids

        return search

    def _translations(self, texts: list[str], batch_size: int, search: Search) -> list[str]:
        translations: dict[int, str] = {}
        for rows, _, tgt in self._batches(texts, batch_size, search):
            for i, text in zip(rows, self.tokenizer.decode(tgt.tolist()), strict=True):
                translations[i] = text
        return [translations[i] for i in range(len(texts))]

    def _batches(
        self, texts: list[str], batch_size: int, search: Search
    ) -> Iterator[tuple[list[int], Tensor, Tensor]]:
        """Yield batches: which texts, their ids, those of their translations."""
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size={batch_size} translates nothing; give 1 or more")
        sources = self._encode(texts)
        order = sorted(range(len(texts)), key=lambda i: len(sources[i]))
        device = next(self.model.parameters()).device
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            src = pad([sources[i] for i in rows], pad_id=self.model.config.pad_id).to(device)
            yield rows, src, search(src)

    def _encode(self, texts: list[str]) -> list[list[int]]:
        check_texts(texts, "a Translator")
        sources = self.encode(texts)
        for index, text in enumerate(texts):
            name = f"text {index} of {len(texts)}"
            if index in sources.problems:
                raise ValueError(f"{name} {sources.problems[index]}")
            if index in sources.blank:
                raise ValueError(f"{name} is empty ({text[:40]!r}); leave it out")
        return sources.ids
