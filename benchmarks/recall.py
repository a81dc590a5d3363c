"""Which networks learn to report the first of 20 words, and after how many updates?

    python -m benchmarks.recall

The task, the networks, and the settings are those of chapter 1, which trains for 120 or 600 updates. Here,
each run has 2,000 updates, with one or two learning rates, and its accuracy on new texts is measured
on the way. The result also has, for each run, the gradient with respect to the first word before training,
divided by that with respect to the next-to-last word. The accuracy can differ between kinds of processors,
because rounding differences grow during training.
"""

from collections.abc import Callable
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.book.chapters.why_attention.distance import gradient_by_distance
from annotated_transformer.book.toy.fitting import fit
from annotated_transformer.book.toy.lookup import LearnedLookup
from benchmarks.record import begin, write_result

WORDS, NAMES, WIDTH = 20, 8, 32
BATCH = 32
MEASURED = (120, 600, 2_000)  # updates
SEEDS = (0, 1, 2)


def recurrent(kind: type[nn.RNN] | type[nn.LSTM], *, gain: float = 0.0, forget: float = 0.0) -> nn.Module:
    """Return a recurrent network, with an orthogonal matrix times `gain` or with open forget gates."""
    network = kind(WIDTH, WIDTH, batch_first=True)
    weights = dict(network.named_parameters())
    if gain:
        nn.init.orthogonal_(weights["weight_hh_l0"], gain=gain)
    if forget:
        gate = slice(WIDTH, 2 * WIDTH)  # PyTorch's order of gates: input, forget, cell, output
        nn.init.constant_(weights["bias_ih_l0"].detach()[gate], forget)
        nn.init.zeros_(weights["bias_hh_l0"].detach()[gate])
    return network


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "RNN": lambda: recurrent(nn.RNN),
    "RNN, U × 1.6": lambda: recurrent(nn.RNN, gain=1.6),
    "LSTM": lambda: recurrent(nn.LSTM),
    "LSTM, forget bias 3": lambda: recurrent(nn.LSTM, forget=3.0),
    "attention": lambda: LearnedLookup(WIDTH, WIDTH, d_k=WIDTH, d_v=WIDTH),
}
# Those that have not learned the task after 120 updates are trained with a lower learning rate as well.
SLOW = ("RNN", "RNN, U × 1.6", "LSTM")
CASES = [(name, lr) for name in NETWORKS for lr in ((0.01, 0.001) if name in SLOW else (0.01,))]


class Reporter(nn.Module):
    """Report the first word of a text from the last output of a network."""

    def __init__(self, network: nn.Module) -> None:
        """Make the embedding, and the linear map to the logits of the names."""
        super().__init__()
        self.network = network
        self.embed = nn.Embedding(2 * NAMES, WIDTH)
        self.to_names = nn.Linear(WIDTH, NAMES)

    def last_output(self, x: Tensor) -> Tensor:
        """Return the last state, or the last word's weighted average."""
        attends = isinstance(self.network, LearnedLookup)
        states: Tensor = self.network(x[:, -1:], x) if attends else self.network(x)[0]
        return states[:, -1]

    def forward(self, words: Tensor) -> Tensor:
        """Return the logits of the names."""
        logits: Tensor = self.to_names(self.last_output(self.embed(words)))
        return logits


def texts(count: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw texts that begin with a name, and return them with the names."""
    words = torch.randint(NAMES, (count, WORDS), generator=rng)
    names = words[:, 0].clone()
    words[:, 0] += NAMES
    return words, names


def gradient_at_start(model: Reporter, seed: int) -> float:
    """Return the gradient of the first word as a multiple of that of the next-to-last word."""
    rng = torch.Generator().manual_seed(seed)
    x = model.embed(texts(500, rng)[0]).detach().requires_grad_()
    sizes = gradient_by_distance(model.last_output(x), x, rng=rng)
    return float(sizes[-1] / sizes[1])


@torch.no_grad()
def accuracy(model: Reporter) -> float:
    """Return the share of names reported correctly on 2,000 new texts, the same for all models."""
    words, names = texts(2_000, torch.Generator().manual_seed(-1))
    return float((model(words).argmax(dim=-1) == names).double().mean())


def train(model: Reporter, lr: float, seed: int) -> dict[str, float]:
    """Train a model; return its accuracy after each number of updates in `MEASURED`."""
    rng = torch.Generator().manual_seed(seed)
    shares = {}

    def draw_loss() -> Tensor:
        words, names = texts(BATCH, rng)
        return F.cross_entropy(model(words), names)

    def look(step: int) -> None:
        if step in MEASURED:
            shares[str(step)] = accuracy(model)

    fit(model, draw_loss, steps=MEASURED[-1], lr=lr, after_step=look)
    return shares


def main() -> None:
    """Train each network with each of its learning rates and each seed, and write the result."""
    begin(__doc__)
    torch.set_default_dtype(torch.float64)  # as in the chapter: the initial weights are the same
    runs: list[dict[str, object]] = []
    for (name, lr), seed in product(CASES, SEEDS):
        torch.manual_seed(seed)
        model = Reporter(NETWORKS[name]())
        start = gradient_at_start(model, seed)
        run = {"network": name, "learning_rate": lr, "seed": seed, "gradient_at_start": start}
        runs.append(run | {"accuracy": train(model.float(), lr, seed)})
        print(runs[-1], flush=True)
    write_result(f"recall_{WORDS}-words", {"seeds": SEEDS, "runs": runs}, seed=SEEDS[0])


if __name__ == "__main__":
    main()
