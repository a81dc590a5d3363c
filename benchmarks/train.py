"""Training speed of our model and its peers: target tokens per second of CPU time, one thread.

`python -m benchmarks.train` writes `train_FAMILY-MODEL.json` to the results, named after the processor; see
`benchmarks/README.md`.
"""

import argparse
import dataclasses
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Adam

from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, make_batches
from annotated_transformer.text.tokenizer import PAD_ID
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.trainer import training_loss, update
from annotated_transformer.training.training_state import TrainingState
from benchmarks.peers import SIZES, Marian, TorchTransformer, comparable
from benchmarks.record import begin, result_file, write_result
from benchmarks.synthetic import multi30k_like
from benchmarks.turns import Contestant, Round, compare, describe, take_turns

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

    def make(self) -> list[Batch]:
        """Return the same batches in every process."""
        config = comparable(self.size)
        longest = min(config.max_length, self.batch_tokens)
        pairs = multi30k_like(self.pairs, vocab_size=config.vocab_size, longest=longest, seed=self.seed)
        generator = torch.Generator().manual_seed(self.seed)
        return make_batches(pairs, batch_tokens=self.batch_tokens, generator=generator)[: self.batches]


def prepare_ours(work: Work, *, fast: bool, bf16: bool) -> Round:
    """Return a round of updates by our own trainer."""
    torch.manual_seed(work.seed)
    model, batches = Transformer(comparable(work.size)).train(), work.make()
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
    model, batches = kind(comparable(work.size)).train(), work.make()
    adam = Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def do_round() -> int:
        for batch in batches:
            adam.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                logits = model(batch.src, batch.decoder_input).flatten(0, 1)
                labels = batch.labels.flatten()
                loss = F.cross_entropy(logits, labels, ignore_index=PAD_ID, label_smoothing=SMOOTHING)
            loss.backward()
            adam.step()
        return sum(batch.num_labels for batch in batches)

    return do_round


def contestants(work: Work) -> list[Contestant]:
    """Return ours and the peers, in float32 and bfloat16."""
    ways = ("plain", "float32"), ("fast", "float32"), ("fast", "bfloat16")
    found = []
    for way, name in ways:
        prepare = partial(prepare_ours, work, fast=way == "fast", bf16=PRECISIONS[name])
        found.append(Contestant(f"ours, {way}, {name}", prepare))
    for peer, (kind, needs) in PEERS.items():
        for name, bf16 in PRECISIONS.items():
            prepare = partial(prepare_peer, work, kind, bf16=bf16)
            found.append(Contestant(f"{peer}, {name}", prepare, needs))
    return found


def main() -> None:
    """Measure, print the ratios and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--batches", type=int, default=6, help="per round")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="padding included")
    parser.add_argument("--pairs", type=int, default=29_000, help="per epoch, as in Multi30k")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    chosen = begin(parser)  # with one thread, as in each contestant's process
    work = Work(**{field.name: getattr(chosen, field.name) for field in dataclasses.fields(Work)})
    found = take_turns(contestants(work), rounds=chosen.rounds)
    ratios = compare(found)
    print(describe(ratios))
    results = {"work": dataclasses.asdict(work), "found": found, "ratios": ratios}
    write_result(result_file("train"), seed=chosen.seed, results=results)


if __name__ == "__main__":
    main()
