"""The fixtures that need PyTorch, for all tests."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import jaxtyping
import pytest
import torch
from torch import Tensor

from annotated_transformer import TrainingConfig, Transformer, TransformerConfig
from annotated_transformer.text import Batch
from annotated_transformer.text.batching import Pair
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID
from annotated_transformer.training.distributed import ProcessGroup
from annotated_transformer.training.loss import batch_loss
from annotated_transformer.training.trainer import training_loss

TRAINED = TransformerConfig(
    vocab_size=17, max_length=67, num_layers=1, d_model=12, d_ff=14, num_heads=3, dropout=0.3
)
SEARCHED = {"vocab_size": 11, "max_length": 23, "num_layers": 2, "d_model": 12, "d_ff": 14, "num_heads": 3}


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Draw the same random numbers in each test, whichever tests ran before it in the process.

    Without an accelerator, `torch.manual_seed` takes a millisecond to store a stack for one that may come.
    """
    seed = torch.manual_seed if torch.accelerator.is_available() else torch.default_generator.manual_seed
    seed(0)


@pytest.fixture
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def fresh_compiler() -> None:
    """Forget what PyTorch's compiler found in other tests of the process, such as code to skip."""
    torch.compiler.reset()


@contextmanager
def unchecked_shapes() -> Iterator[None]:
    """Disable shape checking, about 40% of the time of a training run; other tests check the shapes."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Run a test without the shape checker."""
    with unchecked_shapes():
        yield


@pytest.fixture(autouse=True)
def _as_for_users(request: pytest.FixtureRequest) -> Iterator[None]:
    """Test an error message without the shape checker, whose own error would come first."""
    with unchecked_shapes() if request.node.get_closest_marker("message") else nullcontext():
        yield


@pytest.fixture
def copy_pairs() -> Callable[..., list[Pair]]:
    """Return a factory of copy-task pairs: random words and the same words again."""

    def make(count: int, *, seed: int = 0) -> list[Pair]:
        rng = torch.Generator().manual_seed(seed)
        lengths = torch.randint(1, 8, (count,), generator=rng).tolist()
        words = [torch.randint(4, TRAINED.vocab_size, (n,), generator=rng).tolist() for n in lengths]
        return [([*ids, EOS_ID], [BOS_ID, *ids, EOS_ID]) for ids in words]

    return make


@pytest.fixture
def make_model() -> Callable[..., Transformer]:
    """Return a factory of tiny models with dropout; it seeds PyTorch's global generator."""

    def make(*, seed: int = 0, **changes: object) -> Transformer:
        torch.manual_seed(seed)
        return Transformer(dataclasses.replace(TRAINED, **changes))

    return make


@pytest.fixture
def loss_of() -> Callable[[Transformer, Batch, TrainingConfig], Tensor]:
    def compute(model: Transformer, batch: Batch, config: TrainingConfig) -> Tensor:
        with training_loss(model, config, ProcessGroup()) as objective:
            return batch_loss(objective, batch, model)

    return compute


@pytest.fixture(scope="session")
def stirred() -> Callable[..., Transformer]:
    """Return a factory of models with varied outputs; an untrained model repeats its input."""

    def make(seed: int = 22, **changes: object) -> Transformer:
        torch.manual_seed(seed)
        model = Transformer(TransformerConfig(**{**SEARCHED, "dropout": 0.5, **changes})).double()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("gain"):
                    parameter.normal_()
                elif name.endswith("bias"):
                    parameter.normal_(std=0.3)
                elif parameter.ndim == 2 and "embedding" not in name:
                    parameter *= 3
        return model

    return make


@pytest.fixture
def model(stirred: Callable[..., Transformer]) -> Transformer:
    return stirred(num_layers=1)


@pytest.fixture(scope="session")
def sources() -> list[list[int]]:
    return [[4, EOS_ID], [5, 6, 7, 8, 9, 10, EOS_ID], [9, 9, EOS_ID], [10, 4, 7, 4, EOS_ID], [8, 5, EOS_ID]]
