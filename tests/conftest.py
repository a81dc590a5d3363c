"""Shared fixtures, and the REQUIRE_ALL rule that turns skips into failures."""

import dataclasses
import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, Pair
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.loss import batch_loss, training_loss
from tests.browser import OPTIONS, find
from tests.skips import refused

ROOT = Path(__file__).resolve().parent.parent
TRAINED = TransformerConfig(
    vocab_size=17, max_length=67, num_layers=1, d_model=12, d_ff=14, num_heads=3, dropout=0.3
)
SEARCHED = {"vocab_size": 11, "max_length": 23, "num_layers": 2, "d_model": 12, "d_ff": 14, "num_heads": 3}
ONLY = ("cuda", "hosts", "message", "page", "slow")  # the markers of stages that run few files
NO_SKIP = "REQUIRE_ALL={value} does not allow this skip: {reason}"


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip that REQUIRE_ALL forbids into a failure that quotes its reason."""
    if report.skipped:
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if refused(reason):
            report.outcome = "failed"
            report.longrepr = NO_SKIP.format(value=os.environ["REQUIRE_ALL"], reason=reason)


def pytest_configure() -> None:
    """Check REQUIRE_ALL, and handle SIGINT as in a terminal.

    A shell that starts pytest in the background makes it ignore SIGINT.
    """
    try:
        refused("")
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip a file without the marker that `-m` asks for: importing a file takes longer than most tests.

    A test gets the marker only by its name, as in `pytest.mark.page`, or from what a file imports (`pages`).
    """
    marker = config.getoption("markexpr").partition(" ")[0]
    if marker not in ONLY or not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    return marker not in collection_path.read_text("utf-8") or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import the tests without looking for garbage, and then never look at what they have imported."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Draw the same random numbers in each test, whichever tests ran before it in the process."""
    torch.manual_seed(0)


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


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of a Chromium that Playwright can drive (`executable_path=`)."""
    path = find()
    if path is None:
        pytest.skip("no Chromium on this machine")
    return path


def of_pages(fixture_name: str, config: pytest.Config) -> str:
    """Return the scope of a browser and of a page in it: in `make pages`, they last for the session.

    While they do, no other test of the process can run an event loop, so elsewhere they last for a module.
    """
    return "session" if config.getoption("markexpr").startswith("page") else "module"


@pytest.fixture(scope=of_pages)
def browser(chromium: str) -> Iterator[Any]:
    """Start a browser, or reuse the process's if KEEP_BROWSER is set."""
    from playwright.sync_api import sync_playwright  # imported here because the other tests do not need it

    if "KEEP_BROWSER" in os.environ:
        from tests.kept_browser import kept_browser

        yield kept_browser(chromium)
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """Yield an empty page; JavaScript errors fail the test."""
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.close()
    assert errors == []


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of the corpora, which is next to the project, not in it."""
    path = ROOT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip("no corpora in ../shared/data")
    return path


@pytest.fixture(scope="session")
def notes() -> list[str]:
    """Return the notes that the book started from; their folder is next to the project, not in it."""
    path = ROOT.parent / "shared" / "notes"
    if not path.is_dir():
        pytest.skip("no notes in ../shared/notes")
    return [file.read_text("utf-8") for file in sorted(path.glob("*.txt"))]


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
        words = [
            torch.randint(4, TRAINED.vocab_size, (length,), generator=rng).tolist() for length in lengths
        ]
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
        with training_loss(model, config) as objective:
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


@pytest.fixture
def insert() -> str:
    """Return a script that inserts HTML as JupyterLab does: scripts in it run once it is attached."""
    return """html => {
        const host = document.createElement("div");
        host.innerHTML = html;
        host.querySelectorAll("script").forEach(old => {
            const script = document.createElement("script");
            [...old.attributes].forEach(a => script.setAttribute(a.name, a.value));
            script.textContent = old.textContent;
            old.replaceWith(script);
        });
        document.body.append(host);
    }"""
