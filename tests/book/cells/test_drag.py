"""A figure to drag computes what the package computes, without a kernel, and follows keys and mouse."""

import json
from importlib.resources import files

import pytest
import torch
from py_mini_racer import MiniRacer

from annotated_transformer.book.cells.drag import DragQuery, DragScores, show_drag
from annotated_transformer.model.attention import ScaledDotProductAttention, attention_weights

SCORES = DragScores({"the": 0.0, "river": 2.0, "bank": -1.0})
QUERY = DragQuery(
    query=[0, 2, 1, 0],
    keys={"the": [0, 0, 0, 2], "river": [2, 4, 0, 0], "bank": [2, 1, 1, 0]},
    values={"bank": [5, 5], "the": [0, 0], "river": [10, 1]},
    axes=(1, 2),
    features=("landscape", "money"),
    outputs=("water", "cash"),
)


def page(drag, number="3.1"):
    return show_drag(number, drag)._repr_html_()


def attend(query):
    keys = torch.tensor(list(QUERY.keys.values())).double()
    values = torch.tensor([QUERY.values[name] for name in QUERY.keys]).double()
    q = torch.tensor([query]).double()
    return attention_weights(q, keys)[0], ScaledDotProductAttention()(q, keys, values)[0]


def test_law_the_script_computes_the_attention_of_the_package():
    racer, rng = MiniRacer(), torch.Generator().manual_seed(0)
    racer.eval("var document = { querySelectorAll: () => [] };")
    racer.eval(files("annotated_transformer.book.cells").joinpath("drag.js").read_text("utf-8"))
    for keys, d_k, d_v in ((1, 1, 1), (3, 2, 5), (4, 4, 2), (5, 64, 3)):
        for scale in (0, 1, 300):
            q, k = (scale * torch.randn(n, d_k, generator=rng).double() for n in (1, keys))
            v = torch.randn(keys, d_v, generator=rng).double()
            arguments = json.dumps([q[0].tolist(), k.tolist(), v.tolist()])
            found = json.loads(racer.eval(f"JSON.stringify(atAttend(...{arguments}))"))
            weights = attention_weights(q, k)[0]
            torch.testing.assert_close(torch.tensor(found["weights"]).double(), weights)
            output = ScaledDotProductAttention()(q, k, v)[0]
            torch.testing.assert_close(torch.tensor(found["output"]).double(), output)
            scores = json.dumps(found["scores"])
            assert json.loads(racer.eval(f"JSON.stringify(atSoftmax({scores}))")) == found["weights"]


def texts(drag):
    return [text.get_text() for ax in drag.draw().axes for text in ax.texts if text.get_text()]


def test_law_without_a_script_the_picture_shows_the_numbers_of_the_start():
    weights, output = attend(QUERY.query)
    assert {f"{weight:.2f}" for weight in weights.tolist()} <= {*texts(QUERY)}
    assert "output: water {:.1f}, cash {:.1f}".format(*output.tolist()) in texts(QUERY)


@pytest.fixture
def tab(tab):
    tab.set_viewport_size({"width": 500, "height": 1200})
    return tab


def drawn(tab, number=0):
    return tab.locator("figure.at-drag").nth(number).locator("svg text").all_text_contents()


@pytest.mark.page
def test_law_the_script_draws_what_python_draws(tab):
    tab.set_content(page(SCORES) + page(QUERY, "3.2"))
    for number, drag in enumerate((SCORES, QUERY)):
        assert sorted(drawn(tab, number)) == sorted(texts(drag))
