"""Translation speed of the shipped English–German model on real sentences, by our search and Hugging Face's.

    python -m benchmarks.translate --data DIR
    python -m benchmarks.translate --data DIR --device cuda --batch-sizes 1 64 512 --sentences 1000 --rounds 5

`DIR` is the folder of Multi30k. The times include tokenization, which is the same for all contestants, as are
the batches and the weights. The result has no sentences; it lists by their numbers those whose translation is
not that of the plain model on the CPU.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jaxtyping import Int
from torch import Tensor

from annotated_transformer.commands.loading import take_device
from annotated_transformer.decoding.greedy import length_limits
from annotated_transformer.decoding.length_penalty import LengthPenalty
from annotated_transformer.decoding.translator import Search, Translation, Translator
from annotated_transformer.interop.marian import to_marian
from annotated_transformer.text.corpus import load_corpus
from benchmarks.record import begin, data_parser, result_file, write_result
from benchmarks.turns import METERS, Contestant, Round, compare, take_turns

SPLIT = "test_2016_flickr"


class GenerateTranslator(Translator):
    """A translator that searches by the `generate` of `transformers`, with its own copy of the weights."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        from transformers import MarianMTModel

        super().__init__(*arguments, **options)
        with tempfile.TemporaryDirectory() as folder:
            to_marian(self.model, self.tokenizer, folder)
            # typed as a path of the hub, which has no such model
            self.marian: Any = MarianMTModel.from_pretrained(folder).eval().to(self.device)
        self.marian.generation_config.max_length = None  # `max_new_tokens` takes its place

    def generate(self, src: Int[Tensor, "batch src_tokens"]) -> Int[Tensor, "batch tgt_tokens"]:
        """Return what greedy search finds, without BOS."""
        words = (src != self.model.config.pad_id).long()
        longest = int(length_limits(src, self.model.config).max())
        options = {"num_beams": 1, "do_sample": False, "max_new_tokens": longest}
        found: Tensor = self.marian.generate(src, attention_mask=words, **options)
        return found[:, 1:]

    def _beam(self, beam_size: int, length_penalty: LengthPenalty | None) -> Search:
        return self.generate


MAKERS: dict[str, tuple[Callable[..., Translator], tuple[str, ...]]] = {  # take a `device`
    "ours, fast": (partial(Translator.from_pretrained, fast=True), ()),  # on a CPU
    "ours, plain": (Translator.from_pretrained, ()),
    "HF generate": (GenerateTranslator.from_pretrained, ("transformers",)),
}


@dataclass(frozen=True)
class Work:
    """One round: translations of all texts, in batches of similar length."""

    texts: list[str]
    batch_size: int
    device: str = "cpu"


def prepare(work: Work, make: Callable[..., Translator]) -> Round:
    """Return a round of translations by what `make` returns."""
    translator = make(device=work.device)
    return lambda: len(translator.translate(work.texts, batch_size=work.batch_size))


def contestants(work: Work) -> list[Contestant]:
    """Return our ways to decode on the device, and Hugging Face's."""
    return [
        Contestant(name, partial(prepare, work, make), needs)
        for name, (make, needs) in MAKERS.items()
        if (name, work.device) != ("ours, fast", "cuda")
    ]


def compare_translations(found: list[Translation], expected: list[Translation]) -> dict[str, object]:
    """Return how many are the same text, and for the others their numbers and both log-probabilities.

    Each log-probability is that of the translation's own tokens, computed by our model on the device of the
    search.
    """
    both = list(zip(found, expected, strict=True))
    others = [
        {"index": index, "log_prob": round(own.log_prob, 5), "log_prob_of_cpu": round(other.log_prob, 5)}
        for index, (own, other) in enumerate(both)
        if own.text != other.text
    ]
    return {"equal": len(both) - len(others), "of": len(both), "others": others}


def measure(work: Work, expected: list[Translation], rounds: int) -> dict[str, object]:
    """Return speeds, their ratios, and for each contestant how its translations differ from `expected`."""
    present = contestants(work)
    timings = take_turns(present, rounds=rounds, device=work.device)
    translations = {}
    for contestant in present:
        if not contestant.missing():
            translator = MAKERS[contestant.name][0](device=work.device)
            found = translator.explain(work.texts, batch_size=work.batch_size)
            translations[contestant.name] = compare_translations(found, expected)
    settings = {"sentences": len(work.texts), "batch_size": work.batch_size, "device": work.device}
    return {"work": settings, "found": timings, "ratios": compare(timings), "translations": translations}


def main() -> None:
    """Translate, print the ratios and the numbers of equal translations, and write the result."""
    parser = data_parser(__doc__)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--sentences", type=int, default=64, help="of the test set (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--device", choices=METERS, default="cpu", help="(%(default)s)")
    parser.add_argument("--out", type=Path, help="default: named after the processor or the card")
    chosen = begin(parser)
    take_device(chosen.device)
    pairs = load_corpus("multi30k", folder=chosen.data).splits[SPLIT][: chosen.sentences]
    texts = [source for source, _ in pairs]
    expected = Translator.from_pretrained().explain(texts)
    results = {}
    for size in chosen.batch_sizes:
        result = measure(Work(texts, size, chosen.device), expected, chosen.rounds)
        results[f"batch {size}"] = result
        print(f"batch {size}: {result['ratios']}", result["translations"], sep="\n")
    out = chosen.out or result_file("translate", device=chosen.device)
    write_result(out, seed=0, results={"split": SPLIT, **results}, device=chosen.device)


if __name__ == "__main__":
    main()
