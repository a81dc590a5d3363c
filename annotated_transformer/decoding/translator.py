"""Translation of sentences with a trained model: section 6.1, the chapter on decoding."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

from annotated_transformer.calls import warn
from annotated_transformer.checkpointing.checkpoint import (
    EN_DE,
    check_tokenizer,
    load,
    pretrained_folder,
    read_languages,
)
from annotated_transformer.decoding.beam import Hypotheses, beam_search, check_nbest
from annotated_transformer.decoding.engine import Engine, Exported, engine_search, refuse_other_export
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.kv_cache import MakeDecoder, cached_or_not
from annotated_transformer.decoding.length_penalty import LengthPenalty
from annotated_transformer.decoding.sampling import sample
from annotated_transformer.decoding.translations import RankedTranslation, TranslatedText, Translation, join
from annotated_transformer.devices import take_device
from annotated_transformer.inspection.observation import observe
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.plain import unwrap
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.lines import list_problems
from annotated_transformer.text.sentence_pairs import Languages
from annotated_transformer.text.sentence_splitting import split_sentences
from annotated_transformer.text.sources import (
    Around,
    Sentences,
    Sources,
    encode_texts,
    refuse_bad,
    translatable,
)
from annotated_transformer.text.tokenizer import EOS_ID, Tokenizer
from annotated_transformer.whole_numbers import is_positive_whole

T = TypeVar("T")
Search = Callable[..., Int[Tensor, "batch tgt_tokens"]]  # of ids [batch src_tokens]


class _Batch(NamedTuple):
    """Texts that are translated together: their ids, their decorations, and their places in the list."""

    src: Int[Tensor, "batch src_tokens"]
    around: list[Around]
    rows: list[int]


@refuses_other_kinds
class Translator:
    """Translates texts with a model and its tokenizer.

    If the tokenizer cleans texts, decorations such as emoji are not translated, but put back around the
    translation: see `set_aside`. Models that were trained on cleaned sentences have never seen any.

    `languages` are the codes of the languages to translate from and into, such as `("en", "de")`; the
    attribute is None if they are not known, for example because an early version saved the model.
    """

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        *,
        device: torch.device | str | None = None,
        fast: bool = False,
        decoder: MakeDecoder | None = None,
        engine: Engine | None = None,
        languages: tuple[str, str] | None = None,
    ) -> None:
        """Check that the two belong together, and move the model to `device`.

        Args:
            model: A trained model, which is moved to `device` if that is given.
            tokenizer: The one that the model was trained with.
            device: Where to translate, such as "cuda" (default: where the model is).
            fast: Whether to decode with `FastKeyValueCache`, which does not call the decoder's modules; on a
                CPU. It compares itself with the model at the first use, and refuses if they differ.
            decoder: What computes the steps of decoding, instead of that or `KeyValueCache`, the default (or
                `NoCache`, for a model that the cache refuses).
            engine: A library that searches with its own copy of the model, such as
                `interop.ctranslate2.CTranslate2Engine`. Then `sample` is refused, and `explain` observes
                how `model` reads what the engine found.
            languages: The codes of the languages to translate from and into.

        Raises:
            ValueError: If they differ in vocabulary size or special ids, the engine has another vocabulary
                size, engine or decoder were exported with other tokens or for other languages, there is no
                such device, or two of `fast`, `decoder`, and `engine` are given.
        """
        model = unwrap(model)
        check_tokenizer(model.config, tokenizer)
        words = {"fast=True": fast or None, "a decoder": decoder, "an engine": engine}
        ways = [word for word, value in words.items() if value is not None]
        if len(ways) > 1:
            raise ValueError(f"{ways[0]} and {ways[1]} both say how to decode; give one of them")
        if engine is not None and engine.vocab_size != model.config.vocab_size:
            raise ValueError(
                f"the engine has vocab_size={engine.vocab_size}, and the model {model.config.vocab_size}; "
                f"give an engine made from this model"
            )
        exports: dict[str, object] = {"the engine": engine, "the decoder": decoder}
        for name, other in exports.items():
            if isinstance(other, Exported):
                refuse_other_export(name, other, tokenizer.vocabulary(), languages)
        self.model = model if device is None else model.to(take_device(device))
        self.tokenizer = tokenizer
        if fast:
            from annotated_transformer.fast.kv_cache import FastKeyValueCache, refuse_other_devices  # a guest

            refuse_other_devices(self.model)
            decoder = FastKeyValueCache
        self.decoder = decoder or cached_or_not
        self.engine = engine
        self.languages = None if languages is None else Languages(*languages)

    def __repr__(self) -> str:
        """Name what translates, from and into which languages, and where."""
        languages = None if self.languages is None else tuple(self.languages)
        return f"Translator({self.tokenizer!r}, {languages=}, device={str(self.device)!r})"

    @classmethod
    def from_folder(
        cls, folder: str | Path, *, device: torch.device | str = "cpu", fast: bool = False
    ) -> "Translator":
        """Load a model that `train` or `save` wrote; `device` and `fast` are those of `Translator`."""
        return cls(*load(folder), device=device, fast=fast, languages=read_languages(folder))

    @classmethod
    def from_pretrained(
        cls, name: str = EN_DE, *, device: torch.device | str = "cpu", fast: bool = False
    ) -> "Translator":
        """Load a model that comes with this package; `device` and `fast` are those of `Translator`.

        The model card, `weights/<name>/README.md`, gives its training data, its BLEU and its license.
        """
        return cls.from_folder(pretrained_folder(name), device=device, fast=fast)

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.model.parameters()).device

    @refuses_other_kinds
    def translate(
        self,
        texts: list[str],
        *,
        batch_size: int = 64,
        beam_size: int = 1,
        length_penalty: LengthPenalty | None = None,
        split: bool = True,
        skip_bad: bool = False,
    ) -> list[str]:
        """Return a translation of each text, in the same order: `TranslatedText`, which may be cut off.

        As on the command line, a text is translated sentence by sentence: models are trained on single
        sentences. For a test set, whose translations are compared with references, give `split=False`.

        Args:
            texts: The texts to translate.
            batch_size: How many sentences, of similar lengths, are translated at once.
            beam_size: 1 is greedy search; for a larger one, see `beam_search`.
            length_penalty: That of `beam_search`.
            split: Whether to split texts, by the rules of the model's source language or, if it is not
                known, of English. Otherwise, each is translated as one sentence.
            skip_bad: Translate a text that would be refused as an empty string, with a warning unless it is
                blank.

        Raises:
            ValueError: If a text is blank, too long or not valid Unicode, or contains a control character,
                or a line break without `split`, or a size is less than 1.
        """
        search = self._beam(beam_size, length_penalty)
        return self._translations(texts, batch_size, search, split=split, skip_bad=skip_bad)

    @refuses_other_kinds
    def nbest(
        self,
        texts: list[str],
        nbest: int,
        *,
        batch_size: int = 64,
        beam_size: int | None = None,
        length_penalty: LengthPenalty | None = None,
    ) -> list[list[RankedTranslation]]:
        """Return the `nbest` best translations of each text that beam search finds, best first.

        Without a `beam_size`, the beam is the paper's, 4, or `nbest` if that is larger. There may be fewer
        translations if the vocabulary is tiny. Two of them can be the same text in different tokens. Texts
        are not split into sentences.

        Raises:
            ValueError: If `translate` would raise it without `split`, `nbest` is not a positive whole number,
                or the given `beam_size` is smaller than `nbest`.
        """
        check_nbest(nbest, beam_size)
        beam_size = max(4, nbest) if beam_size is None else beam_size
        search = partial(self._beam_search(), beam_size=beam_size, nbest=nbest, length_penalty=length_penalty)

        def ranked(batch: _Batch) -> list[list[RankedTranslation]]:
            best = search(batch.src)
            decoded = self._decode(best.ids, [around for around in batch.around for _ in range(nbest)])
            ranks = best.log_probs.tolist(), best.penalized_log_probs.tolist()
            translations = list(map(RankedTranslation, decoded, *ranks))
            of_texts = [translations[row : row + nbest] for row in range(0, len(translations), nbest)]
            return [[each for each in best if each.log_prob > -math.inf] for best in of_texts]

        return self._in_batches(texts, batch_size, ranked)

    @refuses_other_kinds
    def sample(
        self,
        texts: list[str],
        *,
        generator: torch.Generator | Sequence[torch.Generator] | None = None,
        logits_processors: Sequence[Callable[[Tensor], Tensor]] = (),
        batch_size: int = 64,
        split: bool = True,
        skip_bad: bool = False,
    ) -> list[str]:
        """Return a sampled translation of each text, in the same order.

        See the function `sample`. With a list of generators, one for each text, a sample does not depend on
        the other texts. The other arguments and the errors are those of `translate`.
        """
        if self.engine is not None:
            raise ValueError(
                "an engine searches, and does not sample; sample with a Translator of the same model without "
                "engine"
            )
        if isinstance(generator, Sequence) and len(generator) != len(texts):
            raise ValueError(f"{len(generator)} generators for {len(texts)} texts; give one for each")
        draw = partial(sample, self.model, logits_processors=logits_processors, decoder=self.decoder)
        translations = partial(self._translations, texts, batch_size, split=split, skip_bad=skip_bad)
        if isinstance(generator, Sequence):
            return translations(search=draw, generators=generator)
        return translations(search=partial(draw, generator=generator))

    @refuses_other_kinds
    def explain(
        self,
        texts: list[str],
        *,
        batch_size: int = 64,
        beam_size: int = 1,
        length_penalty: LengthPenalty | None = None,
    ) -> list[Translation]:
        """Return what `translate` returns with `split=False`, with log-probabilities, tokens and attention.

        The last three are those of `model`, even if an engine found the translation.
        """
        search = self._beam(beam_size, length_penalty)

        def observed(batch: _Batch) -> list[Translation]:
            src, tgt = batch.src, search(batch.src)
            seen = observe(self.model, src, tgt)
            lengths = [(ids != self.model.config.pad_id).sum(dim=1).tolist() for ids in (src, tgt)]
            return [
                Translation(
                    text,
                    float(seen.log_probs[row]),
                    self.tokenizer.tokens(src[row, :src_length].tolist()),
                    self.tokenizer.tokens(tgt[row, :tgt_length].tolist()),
                    seen.attention[row, :, :, :tgt_length, :src_length],
                )
                for row, (text, src_length, tgt_length) in enumerate(
                    zip(self._decode(tgt, batch.around), *lengths, strict=True)
                )
            ]

        return self._in_batches(texts, batch_size, observed)

    def encode(self, texts: list[str]) -> Sources:
        """Return the ids of `texts`, and the reasons for which `translate` would refuse some of them."""
        return encode_texts(self.tokenizer, texts, self.model.config.max_length)

    def sentences(self, texts: list[str], *, split: bool = True, language: str | None = None) -> Sentences:
        """Return the sentences of `texts` that `translate` translates, and why it would refuse others.

        A line break that does not end a sentence becomes a space. The code of a target language is put before
        each sentence that has none of its own. `language` (default: the model's source language) is a code
        for `split_sentences`; without `split`, each text is a sentence.
        """
        language = language or ("en" if self.languages is None else self.languages.source)
        split_code, of_texts = self.tokenizer.split_code, [[text] for text in texts]
        if split:
            of_texts = []
            for code, text in map(split_code, texts):
                lines = [" ".join(one.splitlines()) for one in split_sentences(text, language)]
                of_texts.append([line if split_code(line)[0] else code + line for line in lines])
        return translatable(of_texts, self.encode([one for sentences in of_texts for one in sentences]))

    def _beam(self, beam_size: int, length_penalty: LengthPenalty | None) -> Search:
        if beam_size == 1 and self.engine is None:
            return partial(greedy_search, self.model, decoder=self.decoder)
        search = partial(self._beam_search(), beam_size=beam_size, length_penalty=length_penalty)
        return lambda src: search(src).ids

    def _beam_search(self) -> Callable[..., Hypotheses]:
        if self.engine is None:
            return partial(beam_search, self.model, decoder=self.decoder)
        return partial(engine_search, self.engine, self.model.config)

    def _translations(
        self,
        texts: list[str],
        batch_size: int,
        search: Search,
        *,
        split: bool,
        skip_bad: bool,
        generators: Sequence[torch.Generator] = (),
    ) -> list[str]:
        sentences = self.sentences(texts, split=split)
        of_texts, problems = sentences.of_texts, sentences.problems
        if not skip_bad:
            blank = {i for i, its in enumerate(of_texts) if not its and i not in problems}
            refuse_bad(texts, problems, blank)
        elif problems:
            skipped = [f"skipped: text {i + 1} of {len(texts)} {problem}" for i, problem in problems.items()]
            warn(list_problems(skipped, "their translations are empty"))
        of_sentences = _of_sentences(generators, of_texts) if generators else []

        def decoded(batch: _Batch) -> list[TranslatedText]:
            drawn_by = {"generator": [of_sentences[row] for row in batch.rows]} if generators else {}
            return self._decode(search(batch.src, **drawn_by), batch.around)

        together = [one for sentences in of_texts for one in sentences]
        translated = iter(self._in_batches(together, batch_size, decoded))
        return [join([next(translated) for _ in sentences]) for sentences in of_texts]

    def _decode(self, tgt: Int[Tensor, "batch tgt_tokens"], around: list[Around]) -> list[TranslatedText]:
        ended = (tgt == EOS_ID).any(dim=1).tolist()
        decoded = zip(self.tokenizer.decode(tgt.tolist()), around, ended, strict=True)
        return [
            TranslatedText(f"{before}{text}{after}", complete=complete)
            for text, (before, after), complete in decoded
        ]

    def _in_batches(
        self, texts: list[str], batch_size: int, results: Callable[[_Batch], Sequence[T]]
    ) -> list[T]:
        """Return the results of the texts, batch by batch."""
        if not is_positive_whole(batch_size):
            raise ValueError(
                f"batch_size={batch_size!r} is not a number of texts; give a positive whole number"
            )
        sources = self._encode(texts)
        order = sorted(range(len(texts)), key=lambda i: len(sources.ids[i]))
        by_row: dict[int, T] = {}
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            src = pad([sources.ids[i] for i in rows], pad_id=self.model.config.pad_id).to(self.device)
            batch = _Batch(src, [sources.around[i] for i in rows], rows)
            by_row.update(zip(rows, results(batch), strict=True))
        return [by_row[i] for i in range(len(texts))]

    def _encode(self, texts: list[str]) -> Sources:
        sources = self.encode(texts)
        refuse_bad(texts, sources.problems, sources.blank)
        return sources


def _of_sentences(generators: Sequence[torch.Generator], of_texts: list[list[str]]) -> list[torch.Generator]:
    """Return a generator for each sentence; those of one text are seeded by the text's own."""
    of_sentences = []
    for generator, sentences in zip(generators, of_texts, strict=True):
        seeds = torch.randint(2**62, (len(sentences),), generator=generator, device=generator.device)
        of_sentences += [torch.Generator(generator.device).manual_seed(seed) for seed in seeds.tolist()]
    return of_sentences
