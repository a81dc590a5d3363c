"""The table of formats: each row names functions with the common shape."""

import inspect

import pytest

from annotated_transformer.interop.formats import FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_law_the_functions_of_a_format_have_the_common_shape(name: str):
    known = FORMATS[name]
    assert known.to or known.from_
    if known.to:
        first, *others = inspect.signature(known.function(known.to)).parameters.values()
        assert [first.name, *(other.name for other in others[:2])] == ["model", "tokenizer", "folder"]
        options = {other.name for other in others[2:] if other.kind is other.KEYWORD_ONLY}
        assert {"languages", *(["dtype"] if known.dtypes else [])} <= options
    if known.from_:
        path, *options = inspect.signature(known.function(known.from_)).parameters.values()
        assert path.name == "path"
        assert all(option.default is not option.empty for option in options)
