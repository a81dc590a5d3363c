"""Decoding speed of our model and its peers: sentences per second of CPU time, greedy search, one thread.

`python -m benchmarks.decode` writes `decode_FAMILY-MODEL.json` to the results, named after the processor; see
`benchmarks/README.md`. All models have the shape of `TINY` with biases in attention, as the peers have them.
`torch.nn.Transformer` also ends both stacks with a norm: 512 of 2.6 million parameters.
"""

import dataclasses
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer import TINY, Transformer, TransformerConfig
from annotated_transformer.decoding import KeyValueCache
from annotated_transformer.decoding.engine import engine_search
from annotated_transformer.decoding.greedy import generate
from annotated_transformer.decoding.kv_cache import MakeDecoder
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.interop import CTranslate2Engine, OnnxDecoder
from annotated_transformer.model import SinusoidalPositions, TokenEmbedding
from annotated_transformer.model.inference import suppress_tokens
from annotated_transformer.text import pad
from annotated_transformer.text.tokenizer import EOS_ID, PAD_ID
from benchmarks.record import begin, processor_kind, write_result
from benchmarks.synthetic import multi30k_like
from benchmarks.turns import Round, compare, take_turns

SHAPE = dataclasses.replace(TINY, attention_bias=True)
BATCH_SIZES, SENTENCES, STEPS = (1, 64), 16, 30  # sentences of a round, but at least one batch
Decode = Callable[[Tensor], Tensor]  # from sources to targets
ONNX = ("onnx", "onnxruntime", "onnxscript")


@dataclass(frozen=True)
class Work:
    """One round: some batches of sources, with a target of `steps` tokens for each source."""

    shape: TransformerConfig
    batch_size: int
    batches: int
    steps: int
    seed: int

    def make(self) -> list[Tensor]:
        """Return the same batches of sources in every process, not sorted by length."""
        number, vocab_size = self.batch_size * self.batches, self.shape.vocab_size
        pairs = multi30k_like(number, vocab_size=vocab_size, longest=self.steps, seed=self.seed)
        src = [src for src, _ in pairs]
        return [pad(src[i : i + self.batch_size]) for i in range(0, number, self.batch_size)]


def prepare(work: Work, make: Callable[[Work], Decode]) -> Round:
    """Return a round of decoding by the function that `make` returns."""
    torch.manual_seed(work.seed)
    decode, batches = make(work), work.make()

    def do_round() -> int:
        for src in batches:
            assert decode(src).shape == (len(src), work.steps)
        return work.batches * work.batch_size

    return do_round


def choose(logits: Tensor) -> Tensor:
    """Return the most likely token other than EOS."""
    logits[:, EOS_ID] = -math.inf
    return logits.argmax(dim=-1)


def ours(work: Work, decoder: MakeDecoder | None = None, *, dtype: str = "float32") -> Decode:
    """Return our greedy search, by default on onnxruntime; the model has as many positions as it needs."""
    model = Transformer(dataclasses.replace(work.shape, max_length=work.steps)).eval()
    decoder = decoder or OnnxDecoder.from_model(model, dtype=dtype)
    return lambda src: generate(model, src, choose, decoder)


def ctranslate2(work: Work, dtype: str) -> Decode:
    """Return what a `Translator` with CTranslate2 as its engine searches by: our model, in C++."""
    config = dataclasses.replace(work.shape, max_length=work.steps)
    engine = CTranslate2Engine.from_model(Transformer(config).eval(), dtype=dtype)
    forced = partial(engine.translator.translate_batch, min_decoding_length=work.steps)
    engine.translator = SimpleNamespace(translate_batch=forced)
    return lambda src: engine_search(engine, config, src, beam_size=1).ids


def torch_recomputing(work: Work) -> Decode:
    """Return a greedy search of `torch.nn.Transformer`, with our embedding, encoding, and output projection.

    It recomputes the whole target at each step, because it has no cache.
    """
    warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")  # its own fast path
    config = work.shape
    embedding = TokenEmbedding(config.vocab_size, config.d_model)
    embed = nn.Sequential(embedding, SinusoidalPositions(config.d_model, config.max_length)).eval()
    stacks = 2 * (config.num_layers,)
    model = nn.Transformer(config.d_model, config.num_heads, *stacks, config.d_ff, batch_first=True).eval()

    @torch.inference_mode()
    def decode(src: Tensor) -> Tensor:
        padding = src == config.pad_id
        memory = model.encoder(embed(src), src_key_padding_mask=padding)
        tgt = torch.full_like(src[:, :1], config.bos_id)
        for tokens in range(1, work.steps + 1):
            future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
            states = model.decoder(
                embed(tgt), memory, tgt_mask=future, memory_key_padding_mask=padding, tgt_is_causal=True
            )
            logits = suppress_tokens(embedding.logits(states[:, -1]), config)
            tgt = torch.cat([tgt, choose(logits)[:, None]], dim=1)
        return tgt[:, 1:]

    return decode


def marian(work: Work) -> Decode:
    """Return the greedy search of Hugging Face's `MarianMTModel`."""
    from transformers import MarianConfig, MarianMTModel

    config = work.shape
    stack = {"layers": config.num_layers, "attention_heads": config.num_heads, "ffn_dim": config.d_ff}
    settings = MarianConfig(
        **{f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in stack.items()},
        vocab_size=config.vocab_size,
        max_position_embeddings=config.max_length,
        d_model=config.d_model,
        activation_function=config.activation,
        scale_embedding=True,
        pad_token_id=config.pad_id,
        bos_token_id=config.bos_id,
        eos_token_id=config.eos_id,
        decoder_start_token_id=config.bos_id,
        forced_eos_token_id=None,
    )
    model: Any = MarianMTModel(settings).eval()
    forced = {"min_new_tokens": work.steps, "max_new_tokens": work.steps}

    def decode(src: Tensor) -> Tensor:
        words = (src != PAD_ID).long()
        return model.generate(src, attention_mask=words, num_beams=1, do_sample=False, **forced)[:, 1:]

    return decode


# Each with the packages that it needs; without them, it is left out.
CONTESTANTS: dict[str, tuple[Callable[[Work], Decode], tuple[str, ...]]] = {
    "ours, FastKeyValueCache": (partial(ours, decoder=FastKeyValueCache), ()),
    "ours, KeyValueCache": (partial(ours, decoder=KeyValueCache), ()),
    "torch.nn.Transformer, recomputing": (torch_recomputing, ()),
    "HF MarianMTModel": (marian, ("transformers",)),
    "ours, by onnxruntime": (ours, ONNX),
    "ours, by onnxruntime, int8": (partial(ours, dtype="int8"), ONNX),
    "CTranslate2": (partial(ctranslate2, dtype="float32"), ("ctranslate2",)),
    "CTranslate2, int8": (partial(ctranslate2, dtype="int8"), ("ctranslate2",)),
}


def main() -> None:
    """Measure, print the ratios and write the result."""
    options = begin(__doc__, rounds=15, seed=0)
    results = {}
    for size in BATCH_SIZES:
        work = Work(SHAPE, size, max(SENTENCES // size, 1), STEPS, options.seed)
        contestants = {
            name: partial(prepare, work, make)
            for name, (make, packages) in CONTESTANTS.items()
            if all(map(find_spec, packages))
        }
        timings = take_turns(contestants, rounds=options.rounds)
        ratios = compare(timings)
        results[f"batch {size}"] = {"work": dataclasses.asdict(work), "found": timings, "ratios": ratios}
        print(f"batch {size}", ratios)
    write_result(f"decode_{processor_kind()}", results, seed=options.seed)


if __name__ == "__main__":
    main()
