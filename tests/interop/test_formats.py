"""The table of formats: each row names functions with the common shape."""

import inspect

import pytest

from annotated_transformer.interop.formats import FORMATS, READ, converter


@pytest.mark.parametrize("name", FORMATS)
def test_law_the_functions_of_a_format_have_the_common_shape(name: str):
    model, tokenizer, folder, *options = inspect.signature(converter("to", name)).parameters.values()
    assert [each.name for each in (model, tokenizer, folder)] == ["model", "tokenizer", "folder"]
    assert {each.name for each in options if each.kind is each.KEYWORD_ONLY} >= {"languages", "dtype"}
    if name in READ:
        path, *options = inspect.signature(converter("from", name)).parameters.values()
        assert path.name == "path"
        assert all(option.default is not option.empty for option in options)
