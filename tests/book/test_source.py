"""What `show_source` promises: the code that runs, no line numbers, and a fence that holds."""

import functools
import inspect

import pytest

from annotated_transformer.book import Page, say, show_source
from annotated_transformer.model.attention import MultiHeadAttention, attention_weights


def test_law_the_whole_source_is_shown_under_its_module():
    shown = repr(show_source(attention_weights))
    lines = shown.splitlines()
    assert lines[:2] == ["```python", "# annotated_transformer.model.attention"]
    assert lines[-1] == "```"
    assert inspect.getsource(inspect.unwrap(attention_weights)).strip() in shown


def test_law_a_method_starts_at_the_margin_and_names_its_class():
    lines = repr(show_source(MultiHeadAttention.forward)).splitlines()
    assert lines[1] == "# annotated_transformer.model.attention, MultiHeadAttention.forward"
    assert lines[2].startswith("def forward(")


def test_law_a_decorator_does_not_hide_the_code():
    @functools.wraps(attention_weights)
    def wrapped(*args):
        return attention_weights(*args)

    assert repr(show_source(wrapped)) == repr(show_source(attention_weights))


def test_law_code_that_holds_a_fence_gets_a_longer_one(tmp_path, monkeypatch):
    (tmp_path / "fenced.py").write_text('def fenced():\n    """\n    ```\n    """\n')
    monkeypatch.syspath_prepend(tmp_path)
    import fenced

    fenced.fenced.__module__ = "annotated_transformer.fenced"
    monkeypatch.setitem(inspect.sys.modules, "annotated_transformer.fenced", fenced)
    assert repr(show_source(fenced.fenced)).startswith("````python\n")


@pytest.mark.message
@pytest.mark.parametrize("thing", [3, inspect.getsource, len])
def test_message_only_this_package_is_shown(thing):
    with pytest.raises(
        TypeError, match=r"show_source got .*; give it a function, a method or a class of annotated_tr"
    ):
        show_source(thing)


@pytest.mark.message
def test_message_a_line_must_fit_the_page(tmp_path, monkeypatch):
    (tmp_path / "wide.py").write_text(f"def wide():\n    return {'1' * 92}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import wide

    wide.wide.__module__ = "annotated_transformer.wide"
    monkeypatch.setitem(inspect.sys.modules, "annotated_transformer.wide", wide)
    with pytest.raises(ValueError, match=r"wide has a line of 103 characters, .* room for 92; wrap it"):
        show_source(wide.wide)


def test_law_a_sentence_is_markdown_and_text_alike():
    page = say("The mean is 0.50.")
    assert page._repr_markdown_() == repr(page) == "The mean is 0.50."
    assert page._repr_html_() is None


def test_law_html_takes_the_place_of_markdown():
    page = Page("words", "<p>words</p>")
    assert page._repr_html_() == "<p>words</p>"
    assert page._repr_markdown_() is None
    assert repr(page) == "words"
