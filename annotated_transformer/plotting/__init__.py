"""Attention maps and the curves of a training run, drawn by matplotlib: the extra `plot`."""

from annotated_transformer.extras import extra
from annotated_transformer.lazy_names import lazy

_get, __dir__, __all__ = lazy(__name__, __file__)


def __getattr__(name: str) -> object:
    """Import a name on first use; all but `read_reports` and `read_schedule` need matplotlib."""
    with extra("plot", "drawing", "matplotlib"):
        value: object = _get(name)
        return value
