"""What the chapters import from `annotated_transformer.book` is imported on first use."""

import subprocess
import sys

import pytest

from annotated_transformer import book


def test_law_each_name_is_imported_from_its_module():
    for name, module in book.MODULES.items():
        assert getattr(book, name) is getattr(sys.modules[f"annotated_transformer.{module}"], name)
    assert dir(book) == sorted(book.MODULES)


def test_law_the_package_imports_nothing_before_it_is_asked():
    code = "import sys, annotated_transformer.book; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.message
def test_message_a_name_that_no_chapter_imports():
    with pytest.raises(
        AttributeError, match=r"book' has no attribute 'draw'; a chapter imports from it what EXPORTS"
    ):
        book.draw  # noqa: B018
