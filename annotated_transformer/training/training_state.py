"""What a checkpoint stores and a resumed run restores: everything that later weights depend on.

The chapter on training. The counters among it are in `checkpointing.training_state_file.Progress`.
"""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from torch.optim import Adam

from annotated_transformer.checkpointing.training_state_file import Mode, Progress, SavedState
from annotated_transformer.model.plain import plain_name
from annotated_transformer.model.trainable import AnyModel
from annotated_transformer.training.distributed import ProcessGroup


@dataclass
class TrainingState:
    """Everything that later weights depend on, apart from the corpus.

    Dropout draws from torch's global generator of the model's device: its state is saved, too, and the CPU's.
    `order` is the state of `generator` from which this epoch's order of the pairs is drawn.
    """

    model: AnyModel
    optimizer: Adam
    generator: torch.Generator
    group: ProcessGroup = field(default_factory=ProcessGroup)
    order: Tensor = field(init=False)
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        """Start the first epoch from the current state of the generator."""
        self.order = self.generator.get_state()

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.model.parameters()).device

    def end_epoch(self, judged: float | None = None, mode: Mode = "min") -> None:
        """Count the epoch, and start the next one from the current state of the generator."""
        self.order = self.generator.get_state()
        done = self.progress
        if judged is not None and done.is_best(judged, mode):
            done = replace(done, best_loss=judged, best_epoch=done.epoch + 1, best_step=done.step)
        self.progress = replace(done, epoch=done.epoch + 1, batch=0, labels=0, loss_sum=0.0, norm_sum=0.0)

    def to_saved(self) -> SavedState:
        """Return what a checkpoint stores, by name; every rank has to call this."""
        names = [plain_name(name) for name, _ in self.model.named_parameters()]
        tensors = {f"model.{plain_name(name)}": x for name, x in self.model.state_dict().items()}
        for index, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{key}.{names[index]}": x for key, x in moments.items()}
        tensors["random.order"] = self.order
        for rank, generator in enumerate(self.group.all_gather(torch.get_rng_state())):
            tensors[f"random.cpu.{rank}"] = generator
        if (device := self.device).type == "cuda":
            for rank, generator in enumerate(self.group.all_gather(torch.cuda.get_rng_state(device))):
                tensors[f"random.cuda.{rank}"] = generator
        tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
        return SavedState(tensors, replace(self.progress))

    def restore(self, saved: SavedState) -> None:
        """Set everything to what `to_saved` returned."""
        self.progress, tensors = replace(saved.progress), saved.tensors
        model = {name: tensors[f"model.{plain_name(name)}"] for name in self.model.state_dict()}
        self.model.load_state_dict(model)
        names = [plain_name(name) for name, _ in self.model.named_parameters()]
        moments = {
            index: {key: tensors[f"adam.{key}.{name}"] for key in ("step", "exp_avg", "exp_avg_sq")}
            for index, name in enumerate(names)
            if f"adam.step.{name}" in tensors
        }
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.order = tensors["random.order"]
        self.generator.set_state(self.order)
        torch.set_rng_state(tensors[f"random.cpu.{self.group.rank}"])
        cuda = f"random.cuda.{self.group.rank}"
        if cuda in tensors and self.device.type == "cuda":
            torch.cuda.set_rng_state(tensors[cuda], self.device)
