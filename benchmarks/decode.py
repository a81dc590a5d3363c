"""Decoding speed of our model and its peers: sentences per second of CPU time, greedy search, one thread.

`python -m benchmarks.decode` writes `decode_FAMILY-MODEL.json` to the results, named after the processor; see
`benchmarks/README.md`.
"""

import argparse
import dataclasses
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.decoding.engine import engine_search
from annotated_transformer.decoding.greedy import generate
from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.interop.ctranslate2 import CTranslate2Engine
from annotated_transformer.interop.onnx_decoder import OnnxDecoder
from annotated_transformer.model.inference import suppress_tokens
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import EOS_ID, PAD_ID
from benchmarks.peers import SIZES, TorchTransformer, comparable, marian_model
from benchmarks.record import begin, result_file, write_result
from benchmarks.synthetic import multi30k_like
from benchmarks.turns import Contestant, Round, compare, take_turns

Decode = Callable[[Tensor], Tensor]  # from sources to targets
ONNX = ("onnx", "onnxruntime", "onnxscript")


@dataclass(frozen=True)
class Work:
    """One round: some batches of sources, with a target of `steps` tokens for each source."""

    size: str
    batch_size: int
    batches: int
    steps: int
    seed: int

    def make(self) -> list[Tensor]:
        """Return the same batches of sources in every process, not sorted by length."""
        sources = multi30k_like(
            self.batch_size * self.batches,
            vocab_size=comparable(self.size).vocab_size,
            longest=self.steps,
            seed=self.seed,
        )
        src = [src for src, _ in sources]
        rows = range(0, len(src), self.batch_size)
        return [pad(src[i : i + self.batch_size]) for i in rows]


def prepare(work: Work, make: Callable[[Work], Decode]) -> Round:
    """Return a round of decoding by the function that `make` returns."""
    torch.manual_seed(work.seed)
    decode, batches = make(work), work.make()

    def do_round() -> int:
        for src in batches:
            target = decode(src)
            if target.shape != (len(src), work.steps):
                raise RuntimeError(
                    f"decoded shape {tuple(target.shape)}, expected ({len(src)}, {work.steps})"
                )
        return work.batches * work.batch_size

    return do_round


def choose(logits: Tensor) -> Tensor:
    """Return the most likely token other than EOS."""
    logits[:, EOS_ID] = -math.inf
    return logits.argmax(dim=-1)


def ours(work: Work, decoder: MakeDecoder | None = None, *, dtype: str = "float32") -> Decode:
    """Return our greedy search, by default on onnxruntime; the model has as many positions as it needs."""
    model = Transformer(dataclasses.replace(comparable(work.size), max_length=work.steps)).eval()
    decoder = decoder or OnnxDecoder.from_model(model, dtype=dtype)
    return lambda src: generate(model, src, choose, decoder)


class Forced:
    """CTranslate2's translator, which generates `steps` tokens."""

    def __init__(self, translator: Any, steps: int) -> None:
        self.translator, self.steps = translator, steps

    def translate_batch(self, sources: list[list[str]], **options: Any) -> Any:
        """Return the results of the search."""
        return self.translator.translate_batch(sources, min_decoding_length=self.steps, **options)


def ctranslate2(work: Work, dtype: str) -> Decode:
    """Return what a `Translator` with CTranslate2 as its engine searches by: our model, in C++."""
    config = dataclasses.replace(comparable(work.size), max_length=work.steps)
    engine = CTranslate2Engine.from_model(Transformer(config).eval(), dtype=dtype)
    engine.translator = Forced(engine.translator, work.steps)
    return lambda src: engine_search(engine, config, src, beam_size=1).ids


def torch_recomputing(work: Work) -> Decode:
    """Return a greedy search that recomputes the whole target at each step, because it has no cache."""
    warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")  # its own fast path
    config = comparable(work.size)
    model = TorchTransformer(config).eval()

    def decode(src: Tensor) -> Tensor:
        tgt = torch.full_like(src[:, :1], config.bos_id)
        with torch.inference_mode():
            memory = model.encode(src)
            for _ in range(work.steps):
                logits = model.embedding.logits(model.decode(tgt, *memory)[:, -1])
                tgt = torch.cat([tgt, choose(suppress_tokens(logits, config))[:, None]], dim=1)
        return tgt[:, 1:]

    return decode


def marian(work: Work) -> Decode:
    """Return Hugging Face's own greedy search."""
    model = marian_model(comparable(work.size))
    forced = {"min_new_tokens": work.steps, "max_new_tokens": work.steps}

    def decode(src: Tensor) -> Tensor:
        words = (src != PAD_ID).long()
        return model.generate(src, attention_mask=words, num_beams=1, do_sample=False, **forced)[:, 1:]

    return decode


def contestants(work: Work) -> list[Contestant]:
    """Return our contestants and the peers."""
    makers: dict[str, tuple[Callable[[Work], Decode], tuple[str, ...]]] = {
        "ours, FastKeyValueCache": (partial(ours, decoder=FastKeyValueCache), ()),
        "ours, KeyValueCache": (partial(ours, decoder=KeyValueCache), ()),
        "torch.nn.Transformer, recomputing": (torch_recomputing, ()),
        "HF MarianMTModel": (marian, ("transformers",)),
        "ours, by onnxruntime": (ours, ONNX),
        "ours, by onnxruntime, int8": (partial(ours, dtype="int8"), ONNX),
        "CTranslate2": (partial(ctranslate2, dtype="float32"), ("ctranslate2",)),
        "CTranslate2, int8": (partial(ctranslate2, dtype="int8"), ("ctranslate2",)),
    }
    return [Contestant(name, partial(prepare, work, make), needs) for name, (make, needs) in makers.items()]


def main() -> None:
    """Measure, print the ratios and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--sentences", type=int, default=16, help="per round, but at least one batch")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    chosen = begin(parser)  # with one thread, as in each contestant's process
    results = {}
    for size in chosen.batch_sizes:
        batches = max(chosen.sentences // size, 1)
        work = Work(chosen.size, size, batches, chosen.steps, chosen.seed)
        timings = take_turns(contestants(work), rounds=chosen.rounds)
        ratios = compare(timings)
        results[f"batch {size}"] = {"work": dataclasses.asdict(work), "found": timings, "ratios": ratios}
        print(f"batch {size}", ratios)
    write_result(result_file("decode"), seed=chosen.seed, results=results)


if __name__ == "__main__":
    main()
