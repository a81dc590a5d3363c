"""Optional libraries that are missing: one line that says what for, which extra, and how to install it."""

import re
import tomllib

import pytest

from annotated_transformer.extras import extra
from tests.test_api import ROOT, run

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


def test_law_each_extra_that_is_named_exists():
    sources = [path.read_text("utf-8") for path in (ROOT / "annotated_transformer").rglob("*.py")]
    named = {name for source in sources for name in re.findall(r'\bextra\("(\w+)"', source)}
    assert {"plot", "notebooks", "interop"} <= named <= EXTRAS.keys()


def test_law_an_error_about_another_library_passes_unchanged():
    error = ModuleNotFoundError("No module named 'three'", name="three")
    with pytest.raises(ModuleNotFoundError) as caught, extra("plot", "drawing", "one", "two"):
        raise error
    assert caught.value is error


@pytest.mark.message
def test_message_of_nested_extras_the_outermost():
    words = r"^grading needs one, which is not installed; run pip install '\.\[notebooks\]' in the folder of"
    with (
        pytest.raises(ModuleNotFoundError, match=words) as caught,
        extra("notebooks", "grading"),
        extra("plot", "drawing", "one"),
    ):
        raise ModuleNotFoundError("No module named 'one'", name="one")
    assert caught.value.name == "one"


@pytest.mark.message
def test_message_from_a_wheel_the_libraries_of_the_extra(monkeypatch, tmp_path):
    monkeypatch.setattr("annotated_transformer.extras.__file__", str(tmp_path / "package" / "extras.py"))
    words = re.escape(" ".join(f"'{library}'" for library in EXTRAS["interop"]))
    with pytest.raises(ModuleNotFoundError, match=f"run pip install {words}$"), extra("interop", "this"):
        raise ModuleNotFoundError("No module named 'onnx'", name="onnx")


@pytest.mark.message
@pytest.mark.parametrize("missing", ["matplotlib", "IPython"])
def test_message_the_book_without_a_library_of_the_notebooks(missing: str):
    program = "try: import annotated_transformer.book\nexcept ModuleNotFoundError as error: print(error)"
    way_out = "run pip install '.[notebooks]' in the folder of this book"
    sentence = f"the code of the chapters needs {missing}, which is not installed; {way_out}\n"
    assert run(program, missing) == sentence
