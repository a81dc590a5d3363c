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


@pytest.mark.page
def test_law_the_script_draws_what_python_draws(tab):
    drags = {"3.1": SCORES, "3.2": QUERY}
    tab.set_viewport_size({"width": 500, "height": 1200})
    tab.set_content("".join(show_drag(number, drag)._repr_html_() for number, drag in drags.items()))
    for place, drag in enumerate(drags.values()):
        drawn = tab.locator("figure.at-drag").nth(place).locator("svg text").all_text_contents()
        texts = [text.get_text() for ax in drag.draw().axes for text in ax.texts if text.get_text()]
        assert sorted(drawn) == sorted(texts)
