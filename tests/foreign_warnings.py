"""A pytest plugin: only a warning about our code fails a test, not one of a package about another package.

`make oldest` and `make newest` use it, because their versions were not chosen to fit each other.
"""

from collections.abc import Generator

import pytest

OURS = r"annotated_transformer|benchmarks|tests|test_\w+|conftest|builder|lint|__main__"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Add filters, of which the last that matches counts, before the first import of a package."""
    early_config.addinivalue_line("filterwarnings", "default")
    early_config.addinivalue_line("filterwarnings", rf"error:::({OURS})(\.|$)")
    yield
