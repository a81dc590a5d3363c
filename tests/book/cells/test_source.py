"""`show_source` shows the code that runs, core first, in a code fence that does not end early."""

import inspect
import re
import sys

import pytest
import torch

from annotated_transformer.book.cells.source import core, show_source
from annotated_transformer.model import attention as attention_module
from annotated_transformer.model.attention import ScaledDotProductAttention, attention_weights, masked_softmax
from annotated_transformer.model.multi_head_attention import MultiHeadAttention


def fences(text):
    return re.findall(r"^```python\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)


def test_law_the_core_comes_first_and_the_whole_source_is_one_click_below():
    shown = repr(show_source(attention_weights))
    source = inspect.getsource(inspect.unwrap(attention_weights)).strip()
    first, second = fences(shown)
    assert first == core(source)
    assert second == f"# annotated_transformer.model.attention\n{source}"
    opened, below = shown.split('<details class="at-source">')
    assert first in opened
    assert second in below
    assert below.startswith(
        "<summary>annotated_transformer.model.attention: the complete source</summary>\n\n```python\n"
    )  # without the blank line, Markdown would not recognize the fence
    assert below.endswith("\n```\n\n</details>")


def test_law_the_source_of_a_method_is_dedented_and_names_its_class():
    first, second = fences(repr(show_source(MultiHeadAttention.forward)))
    assert first.startswith("def forward(self, query, key, value, mask=None):\n    ")
    heading, start, *_ = second.splitlines()
    assert heading == "# annotated_transformer.model.multi_head_attention, MultiHeadAttention.forward"
    assert start.startswith("def forward(")


CORES = {
    "no types, no docstring": (
        'def f(x: int, *y: int, z: int = 3, **w: int) -> int:\n    """Say.\n\n    More."""\n    return x\n',
        "def f(x, *y, z=3, **w):\n    return x",
    ),
    "typed variables, letters of two bytes": (
        "def f(é: int):\n    ü: int = é + 1\n    return ü\n",
        "def f(é):\n    ü = é + 1\n    return ü",
    ),
    "refusals": (
        "def f(x: int):\n    if x < 0:\n        raise ValueError(\n            x\n        )  # fmt: skip\n"
        "    _refuse_more(x)\n    while x:\n        refuse_nan(x)\n        x -= 1\n    return x\n",
        "def f(x):\n    while x:\n        x -= 1\n    return x",
    ),
    "what also does something": (
        "def f(x):\n    if x:\n        raise ValueError\n    else:\n        y = x\n"
        "    for z in y:\n        if z:\n            raise KeyError\n",
    )
    * 2,
    "a class": (
        'class A:\n    """Say."""\n\n    size: int\n\n    @torch.no_grad()\n    def f(self, x: int) -> int:\n'
        '        """Say."""\n        return x\n',
        "class A:\n    size: int\n\n    @torch.no_grad()\n    def f(self, x):\n        return x",
    ),
}


@pytest.mark.parametrize(("source", "essence"), CORES.values(), ids=CORES)
def test_law_the_core_leaves_out_types_docstrings_and_refusals(source, essence):
    assert core(source).rstrip() == essence.rstrip()


def test_oracle_the_core_computes_what_the_source_computes():
    names = dict(vars(attention_module))
    for thing in (masked_softmax, attention_weights, ScaledDotProductAttention):
        exec(core(inspect.getsource(inspect.unwrap(thing))), names)
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, n, 5, generator=generator) for n in (3, 7, 7))
    mask = torch.rand(3, 7, generator=generator) > 0.4
    mask[1] = False
    assert names["ScaledDotProductAttention"] is not ScaledDotProductAttention
    ours = names["ScaledDotProductAttention"]()(query, key, value, mask)
    assert torch.equal(ours, ScaledDotProductAttention()(query, key, value, mask))


@pytest.mark.message
@pytest.mark.parametrize("thing", [3, inspect.getsource, len])
def test_message_code_from_outside_the_package(thing):
    with pytest.raises(TypeError, match=r"show_source got .*; give it a function, a method or a class of an"):
        show_source(thing)


@pytest.mark.message
def test_message_a_line_must_fit_the_page(tmp_path, monkeypatch):
    (tmp_path / "wide.py").write_text(f"def wide():\n    return {'1' * 92}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import wide

    wide.wide.__module__ = "annotated_transformer.wide"
    monkeypatch.setitem(sys.modules, "annotated_transformer.wide", wide)
    with pytest.raises(ValueError, match=r"wide has a line of 103 characters, .* room for 88; wrap it"):
        show_source(wide.wide)
