"""What the extension does before and after the pages."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from sphinx.application import Sphinx

from builder.site import extension


@pytest.mark.parametrize(
    ("format", "error", "written"),
    [
        ("html", None, ["first", "last", "icons"]),
        ("html", ValueError("a page failed"), ["first"]),
        ("", None, []),  # the builder that checks links
    ],
)
def test_law_files_are_written_for_a_site_whose_pages_are_complete(monkeypatch, format, error, written):
    found: list[str] = []
    monkeypatch.setattr(extension, "FIRST", (lambda app: found.append("first"),))
    last = [lambda app, name=name: found.append(name) for name in ("last", "icons")]
    monkeypatch.setattr(extension, "LAST", tuple(last))
    app = Mock(spec=Sphinx, builder=SimpleNamespace(format=format), config=SimpleNamespace())
    extension.start(app)
    extension.finish(app, error)
    assert found == written
