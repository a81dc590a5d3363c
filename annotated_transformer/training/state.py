"""Where a training stands, all that its next weights depend on: the chapter on training."""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.optim import Adam

from annotated_transformer.fast.modules import HiddenStates
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.distributed import Team


@dataclass
class Counters:
    """How far a training has come; batches, labels and sums are of this epoch.

    Attributes:
        step: Updates of the weights.
        epoch: Epochs finished.
        batch: Batches done.
        labels: Labels seen.
        loss_sum: Sum of their losses.
        norm_sum: Sum of the gradients' norms, one for each batch.
        rate: The last learning rate.
        seconds: Wall time of the training, over all its runs.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    labels: int = 0
    loss_sum: float = 0.0
    norm_sum: float = 0.0
    rate: float = 0.0
    seconds: float = 0.0


@dataclass
class TrainingState:
    """All that the weights to come depend on, apart from the corpus.

    Dropout draws from torch's own generators, whose states are saved with these.

    Attributes:
        model: Trained in place.
        optimizer: Adam, whose moments are as old as the training.
        generator: Draws the order of the pairs.
        team: Who trains it.
        fast: Whether the loss takes over the model's last product.
        net: What computes as `model`, together with the team; where `fast`, without that.
        order: State of `generator` from which this epoch's order is drawn.
        at: How far it has come.
    """

    model: Transformer
    optimizer: Adam
    generator: torch.Generator
    team: Team = field(default_factory=Team)
    fast: bool = False
    net: nn.Module = field(init=False)
    order: Tensor = field(init=False)
    at: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        """Begin the first epoch where the generator stands."""
        self.order = self.generator.get_state()
        self.net = self.team.wrap(HiddenStates(self.model) if self.fast else self.model)

    def end_epoch(self) -> None:
        """Count the epoch, and begin the next where its order left the generator."""
        self.order = self.generator.get_state()
        self.at = Counters(self.at.step, self.at.epoch + 1, seconds=self.at.seconds)

    def tensors(self) -> dict[str, Tensor]:
        """Return weights, moments and all the team's generators by name."""
        names = [name for name, _ in self.model.named_parameters()]
        found = {f"model.{name}": x for name, x in self.model.state_dict().items()}
        for index, moments in self.optimizer.state_dict()["state"].items():
            found |= {f"adam.{key}.{names[index]}": x for key, x in moments.items()}
        found["random.order"] = self.order
        for rank, generator in enumerate(self.team.gather(torch.get_rng_state())):
            found[f"random.cpu.{rank}"] = generator
        if torch.cuda.is_available():
            for rank, generator in enumerate(self.team.gather(torch.cuda.get_rng_state())):
                found[f"random.cuda.{rank}"] = generator
        return {name: tensor.cpu().contiguous() for name, tensor in found.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Set weights, moments and generators to what `tensors` returned."""
        model = {name: tensors[f"model.{name}"] for name in self.model.state_dict()}
        self.model.load_state_dict(model)
        moments = {
            index: {key: tensors[f"adam.{key}.{name}"] for key in ("step", "exp_avg", "exp_avg_sq")}
            for index, (name, _) in enumerate(self.model.named_parameters())
            if f"adam.step.{name}" in tensors
        }
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.order = tensors["random.order"]
        self.generator.set_state(self.order)
        torch.set_rng_state(tensors[f"random.cpu.{self.team.rank}"])
        if (cuda := f"random.cuda.{self.team.rank}") in tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(tensors[cuda])
