"""The public API: the names that `annotated_transformer` exports, each imported on first use."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import annotated_transformer


def test_law_each_public_name_exists_and_is_listed():
    assert set(annotated_transformer.__all__) == set(annotated_transformer.MODULES)
    assert dir(annotated_transformer) == sorted([*annotated_transformer.__all__, "__version__"])
    for name in annotated_transformer.__all__:
        found = getattr(annotated_transformer, name)
        module = f"annotated_transformer.{annotated_transformer.MODULES[name]}"
        assert getattr(found, "__module__", module) in (module, "annotated_transformer.config")


def test_law_the_package_can_be_imported_without_pytorch():
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import annotated_transformer\n"
        "from annotated_transformer import BASE, TINY, TrainingConfig\n"
        "print(annotated_transformer.__version__, *dir(annotated_transformer))"
    )
    found = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert found[0] == annotated_transformer.__version__
    assert found[1:] == dir(annotated_transformer)


def test_law_a_star_imports_the_public_api():
    names: dict[str, object] = {}
    exec("from annotated_transformer import *", names)
    assert {*annotated_transformer.__all__} <= names.keys()
    assert names["Transformer"] is annotated_transformer.Transformer
    assert pickle.loads(pickle.dumps(names["Transformer"])) is names["Transformer"]


def test_law_importing_a_module_imports_no_more_than_it_needs():
    program = (
        "import sys, annotated_transformer.model.attention\n"
        "print(*sorted(name for name in sys.modules if name.startswith('annotated_transformer')))"
    )
    found = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert found == [
        f"annotated_transformer{part}" for part in ("", ".model", ".model.attention", ".model.checks")
    ]


@pytest.mark.message
def test_message_a_name_that_the_package_does_not_have():
    with pytest.raises(AttributeError, match="has no attribute 'BERT'; it has BASE, "):
        annotated_transformer.BERT  # noqa: B018


def test_law_each_page_of_the_reference_lists_internal_modules_last():
    folder = Path(__file__).parent.parent / "chapters" / "api"
    parts = {page.stem: page.read_text("utf-8").split("\n## Internal\n") for page in folder.glob("*.md")}
    assert any(len(found) == 2 for found in parts.values())
    assert all("They may change without notice." in found[1] for found in parts.values() if len(found) == 2)
    assert not any("\n## " in internal for _, *found in parts.values() for internal in found)
