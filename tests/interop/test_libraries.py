"""A library of the extra `interop` is imported, or named with the command that installs it."""

import json

import pytest

from annotated_transformer.interop.libraries import library


def test_law_a_library_or_a_module_of_it_is_imported():
    assert library("json") is json
    assert library("json.decoder") is json.decoder


@pytest.mark.message
@pytest.mark.parametrize("name", ["no_such_library", "no_such_library.specs"])
def test_message_a_missing_library_is_named_with_its_command(name: str):
    words = r"^this needs no_such_library, which .*: pip install 'annotated-transformer\[interop\]'$"
    with pytest.raises(ModuleNotFoundError, match=words) as caught:
        library(name)
    assert caught.value.name == "no_such_library"
