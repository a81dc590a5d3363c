"""How far operations of a Transformer are from the limits of one CPU core, and where an update's time goes.

    python -m benchmarks.roofline

*Limits*: the most operations per second of a large matrix product, by PyTorch's default and by oneDNN, and
the most bytes per second of several operations on long vectors. *Points*: operations of the base model, each
with its number of operations, the bytes that it has to read and write at least, and its CPU time, the best of
several rounds. *Updates*: the share of each kind of operator in the time of the trainer's updates (the plain
ones, in float32), by PyTorch's profiler. The result, which chapter 21 shows, is `roofline_FAMILY-MODEL.json`,
named after the processor.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.benchmark import Timer

from annotated_transformer import BASE, TINY, TrainingConfig, Transformer, TransformerConfig
from annotated_transformer.fast.linear import onednn_linear
from annotated_transformer.fast.modules import keep_freed_memory
from annotated_transformer.training import train_steps
from benchmarks.record import begin, processor_kind, write_result
from benchmarks.synthetic import multi30k_like

ROUNDS, LEAST_SECONDS = 12, 0.04
D, HEAD, VOCAB, FLOAT = 512, 64, 37_000, 4  # of the base model; bytes of a number
TOKENS = 16_384  # so that the numbers do not stay in the caches
MATRICES = 32  # of one layer's size: 128 MiB in all
LONG = 2**24  # numbers of a long vector: 64 MiB
KINDS = {  # of PyTorch's operators, by what their names contain; the first that fits
    "optimizer": ("_fused_adam",),
    "matrix products": ("mm", "linear"),
    "softmax": ("softmax",),
    "dropout": ("bernoulli", "dropout"),
    "embedding": ("embedding", "index"),
    "additions, norms, copies": ("",),
}


class Work(NamedTuple):
    """An operation to time: what it computes, and how many FLOPs and bytes each call takes at least."""

    run: Callable[[], object]
    flops: int
    bytes: int


def linear(rows: int) -> Work:
    """Return the first product of the feed-forward network for some rows, each call with other weights."""
    weights = [torch.randn(4 * D, D) for _ in range(MATRICES)]
    x, calls = torch.randn(rows, D), iter(range(10**9))
    size = 4 * D * D + 5 * rows * D
    return Work(lambda: F.linear(x, weights[next(calls) % MATRICES]), 2 * rows * 4 * D * D, FLOAT * size)


def scores(tokens: int) -> Work:
    """Return the product of queries and keys of 8 heads, for as many sentences as make 16,384 tokens."""
    sentences = TOKENS // tokens
    query, key = (torch.randn(sentences * 8, tokens, HEAD) for _ in range(2))
    product = torch.empty(sentences * 8, tokens, tokens)
    numbers = 8 * sentences * (2 * tokens * HEAD + tokens**2)
    flops = 2 * 8 * sentences * tokens**2 * HEAD
    return Work(lambda: torch.bmm(query, key.transpose(-2, -1), out=product), flops, FLOAT * numbers)


def vectors(operate: Callable[[Tensor], object], width: int, flops: int, passes: int) -> Work:
    """Return an operation on 16,384 rows: FLOPs for each number, and how often it is read or written."""
    x = torch.randn(TOKENS, width)
    return Work(lambda: operate(x), flops * x.numel(), FLOAT * passes * x.numel())


def operations() -> dict[str, Work]:
    """Return all operations, in the order of the FLOPs per byte that they should have."""
    other, norm = torch.randn(TOKENS, D), nn.LayerNorm(D)
    return {
        "residual sum": vectors(lambda x: x + other, D, 1, 3),
        "LayerNorm": vectors(norm, D, 8, 2),
        "softmax": vectors(lambda x: x.softmax(-1), VOCAB // 20, 5, 2),
        **{f"linear, {rows}": linear(rows) for rows in (1, 4, 16, 64, 256, 1024)},
        **{f"scores, {tokens}": scores(tokens) for tokens in (32, 512)},
    }


def products() -> dict[str, Work]:
    """Return a large product by two libraries, for the limit of the arithmetic."""
    a, b, product = (torch.randn(1024, 1024) for _ in range(3))
    other = onednn_linear(b)
    return {
        "oneDNN": Work(lambda: other(a), 2 * 1024**3, 3 * FLOAT * 1024**2),
        "product": Work(lambda: torch.mm(a, b, out=product), 2 * 1024**3, 3 * FLOAT * 1024**2),
    }


def long_vectors() -> dict[str, Work]:
    """Return operations on long vectors; the fastest gives the limit of the memory."""
    x, y, result = (torch.randn(LONG) for _ in range(3))
    return {
        "sum of two": Work(lambda: torch.add(x, y, out=result), LONG, 3 * FLOAT * LONG),
        "sum in place": Work(lambda: y.add_(x, alpha=1e-9), 2 * LONG, 3 * FLOAT * LONG),
        "copy": Work(lambda: result.copy_(x), 0, 2 * FLOAT * LONG),
        "sum of all": Work(lambda: x.sum(), LONG, FLOAT * LONG),
    }


@torch.inference_mode()
def best_times(all_work: dict[str, Work]) -> dict[str, float]:
    """Return the shortest CPU time of each, over rounds in which they take turns."""
    timers = {
        name: Timer("run()", globals={"run": work.run}, timer=time.process_time)
        for name, work in all_work.items()
    }
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(ROUNDS):
        for name, timer in timers.items():
            best[name] = min(best[name], timer.blocked_autorange(min_run_time=LEAST_SECONDS).mean)
    return best


def update_shares(shape: TransformerConfig, *, tokens: int, updates: int) -> dict[str, float]:
    """Return the share of each kind of operator in the time of an update."""
    torch.manual_seed(0)
    pairs = multi30k_like(4000, vocab_size=shape.vocab_size, longest=shape.max_length, seed=0)
    config = TrainingConfig(steps=updates + 2, batch_tokens=tokens, label_smoothing=0.1, warmup_steps=1)
    steps = train_steps(Transformer(shape), pairs, config)
    next(steps)  # the first one allocates Adam's state
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(updates):
            next(steps)
    times = Counter[str]()
    for event in profiled.key_averages():
        kind = next(kind for kind, parts in KINDS.items() if any(part in event.key for part in parts))
        times[kind] += event.self_cpu_time_total
    return {kind: times[kind] / times.total() for kind in KINDS}


def main() -> None:
    """Measure everything and write the result."""
    begin(__doc__)
    keep_freed_memory()  # as in fast training; otherwise, each large result is written to new pages
    multiplied, moved, measured = products(), long_vectors(), operations()
    times = best_times(multiplied | moved | measured)  # in the same rounds, which slow all of them equally
    points = {
        name: {"flops": work.flops, "bytes": work.bytes, "seconds": times[name]}
        for name, work in measured.items()
    }
    results = {
        "flops_per_second": multiplied["product"].flops / times["product"],
        "by_onednn": multiplied["oneDNN"].flops / times["oneDNN"],
        "bytes_per_second": max(work.bytes / times[name] for name, work in moved.items()),
        "points": points,
        "updates": {
            "TINY": {"shares": update_shares(TINY, tokens=4096, updates=3)},
            "BASE": {"shares": update_shares(BASE, tokens=1024, updates=1)},
        },
    }
    print(results)
    write_result(f"roofline_{processor_kind()}", results)


if __name__ == "__main__":
    main()
