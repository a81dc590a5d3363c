"""Training speed of our model and its peers: target tokens per second of CPU time, one thread, or on a card.

`python -m benchmarks.train` writes `train_FAMILY-MODEL.json` to the results, named after the processor, and
with `--device cuda`, `train_CARD.json`; see `benchmarks/README.md`.
"""

import argparse
import dataclasses
import statistics
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Adam

from annotated_transformer.commands.loading import take_device
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, make_batches
from annotated_transformer.text.tokenizer import PAD_ID
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.trainer import training_loss, update
from annotated_transformer.training.training_state import TrainingState
from benchmarks.peers import SIZES, Marian, TorchTransformer, comparable
from benchmarks.record import describe_code, result_file, write_result
from benchmarks.synthetic import SRC, TGT, log_length, random_pairs
from benchmarks.turns import METERS, Contestant, Round, Timings, compare, take_turns

SMOOTHING = 0.1
PRECISIONS = {"float32": False, "bfloat16": True}  # whether matrix products are in bfloat16
PEERS: dict[str, tuple[type[nn.Module], tuple[str, ...]]] = {
    "torch.nn.Transformer": (TorchTransformer, ()),
    "HF MarianMTModel": (Marian, ("transformers",)),
}


@dataclass(frozen=True)
class Work:
    """One round: some batches of an epoch, with one update of the weights for each."""

    size: str
    batches: int
    batch_tokens: int
    pairs: int
    seed: int
    device: str = "cpu"
    lengths: tuple[float, float] | None = None  # mean and standard deviation; None means those of Multi30k

    def make(self) -> list[Batch]:
        """Return the same batches in every process."""
        config = comparable(self.size)
        both = (SRC, TGT) if self.lengths is None else (log_length(*self.lengths),) * 2
        pairs = random_pairs(
            self.pairs,
            *both,
            vocab_size=config.vocab_size,
            longest=min(config.max_length, self.batch_tokens),
            seed=self.seed,
        )
        generator = torch.Generator().manual_seed(self.seed)
        return make_batches(pairs, batch_tokens=self.batch_tokens, generator=generator)[: self.batches]


def prepare_ours(work: Work, *, fast: bool, bf16: bool) -> Round:
    """Return a round of updates by our own trainer."""
    torch.manual_seed(work.seed)
    model, batches = Transformer(comparable(work.size)).train().to(work.device), work.make()
    config = TrainingConfig(batch_tokens=work.batch_tokens, label_smoothing=SMOOTHING, fast=fast, bf16=bf16)
    adam = Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    state = TrainingState(model, adam, torch.Generator())
    stack = ExitStack()  # stays open: the process ends with the last round
    loss = stack.enter_context(training_loss(model, config, state.group))

    def do_round(stack: ExitStack = stack) -> int:
        for batch in batches:
            update(state, loss, [batch], config)
        return sum(batch.num_labels for batch in batches)

    return do_round


def prepare_peer(work: Work, kind: type[nn.Module], *, bf16: bool) -> Round:
    """Return a round of updates as in PyTorch's tutorials; `bf16` computes matrix products in bfloat16."""
    torch.manual_seed(work.seed)
    model, batches = kind(comparable(work.size)).train().to(work.device), work.make()
    adam = Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def do_round() -> int:
        for batch in batches:
            there = batch.to(torch.device(work.device))
            adam.zero_grad()
            with torch.autocast(work.device, torch.bfloat16, enabled=bf16):
                logits = model(there.src, there.decoder_input).flatten(0, 1)
                labels = there.labels.flatten()
                loss = F.cross_entropy(logits, labels, ignore_index=PAD_ID, label_smoothing=SMOOTHING)
            loss.backward()
            adam.step()
        return sum(batch.num_labels for batch in batches)

    return do_round


def contestants(work: Work) -> list[Contestant]:
    """Return ours and the peers, in float32 and bfloat16; the accelerated path is for CPUs only."""
    ways = [("plain", "float32")]
    ways += [("plain" if work.device == "cuda" else "fast", name) for name in PRECISIONS]
    found = [
        Contestant(f"ours, {way}, {name}", partial(prepare_ours, work, fast=way == "fast", bf16=bf16))
        for way, name in dict.fromkeys(ways)
        for bf16 in [PRECISIONS[name]]
    ]
    for peer, (kind, needs) in PEERS.items():
        for name, bf16 in PRECISIONS.items():
            prepare = partial(prepare_peer, work, kind, bf16=bf16)
            found.append(Contestant(f"{peer}, {name}", prepare, needs))
    return found


def shares_of_peak(timings: Timings, size: str, peak_tflops: float) -> dict[str, float]:
    """Return the share of a device's peak that each contestant reaches: 6 × weights × target tokens/s ÷ peak.

    The forward pass takes about two FLOPs for each weight and token, and the backward pass twice as many.
    Attention's scores are left out, and the encoder is counted as if it read the target.
    """
    weights = sum(p.numel() for p in Transformer(comparable(size)).parameters())
    speeds = {name: line["per_second"] for name, line in timings.items() if "per_second" in line}
    return {
        name: round(6 * weights * statistics.median(rounds) / (peak_tflops * 1e12), 4)
        for name, rounds in speeds.items()
    }


def main() -> None:
    """Measure, print the ratios and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--batches", type=int, default=6, help="per round")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="padding included")
    parser.add_argument("--pairs", type=int, default=29_000, help="per epoch, as in Multi30k")
    parser.add_argument(
        "--lengths",
        type=float,
        nargs=2,
        metavar=("MEAN", "DEVIATION"),
        help="of sentences, in tokens with BOS and EOS (default: those of Multi30k)",
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=METERS, default="cpu")
    parser.add_argument(
        "--peak-tflops", type=float, help="of the device, for the share of it that is reached"
    )
    parser.add_argument("--out", type=Path, help="default: named after the processor or the card")
    chosen = parser.parse_args()
    take_device(chosen.device)
    describe_code()
    torch.set_num_threads(1)  # as in each contestant's process
    work = Work(**{field.name: getattr(chosen, field.name) for field in dataclasses.fields(Work)})
    timings = take_turns(contestants(work), rounds=chosen.rounds, device=work.device)
    ratios = compare(timings)
    print(*(f"{ours} / {peer}: {x}" for ours, line in ratios.items() for peer, x in line.items()), sep="\n")
    labels = statistics.mean(batch.num_labels for batch in work.make())
    results = {
        "work": dataclasses.asdict(work),
        "tokens_per_update": round(labels),
        "found": timings,
        "ratios": ratios,
    }
    if chosen.peak_tflops:
        shares = shares_of_peak(timings, work.size, chosen.peak_tflops)
        results["peak"] = {"tflops": chosen.peak_tflops, "shares": shares}
    out = chosen.out or result_file("train", device=work.device)
    write_result(out, seed=chosen.seed, results=results, device=chosen.device)


if __name__ == "__main__":
    main()
