"""Arguments of another kind: each public name refuses them by their name."""

import inspect
from importlib import import_module

import pytest

PARTS = "", ".training", ".decoding", ".evaluation", ".interop", ".inspection"
PACKAGES = [import_module(f"annotated_transformer{part}") for part in PARTS]
PUBLIC = {name: getattr(package, name) for package in PACKAGES for name in package.__all__}
NOT_CALLED = (  # base classes, and what functions return
    "BleuScore Candidate ClassBatch Engine EpochMetrics Hypotheses LayerStates Observation RankedTranslation "
    "Score StepDecoder TrainableModel TrainingStopped Translation Update"
).split()
UNCHECKED = "dtype", "keep", "kind", "mode"  # NumPy checks the first, and a function its choices


class Unfit:
    """Of no kind that an argument may have."""


@pytest.mark.message
@pytest.mark.parametrize("name", [n for n in PUBLIC if callable(PUBLIC[n]) and n not in NOT_CALLED])
def test_message_each_public_name_says_which_argument_is_of_another_kind(name: str):
    for argument, parameter in inspect.signature(PUBLIC[name]).parameters.items():
        if parameter.kind is not parameter.VAR_POSITIONAL and argument not in UNCHECKED:
            with pytest.raises((TypeError, ValueError), match=rf"\b{argument}\b.*[;,] "):
                PUBLIC[name](**{argument: Unfit()})


@pytest.mark.message
def test_message_what_a_list_holds_and_the_way_out():
    from annotated_transformer.evaluation import chrf
    from annotated_transformer.text import encode_pairs

    with pytest.raises(TypeError, match=r"^chrf takes a str, not int, as hypotheses\[1\]; give a str$"):
        chrf(["a", 3], ["a", "b"])
    for texts in (["one", "two"], [("one",)]):
        with pytest.raises(TypeError, match=r"takes a tuple of 2, not (str|tuple of 1), as texts\[0\]; give"):
            encode_pairs(PUBLIC["Tokenizer"].train(["one"], vocab_size=300), texts)
    with pytest.raises(TypeError, match=r"not dict, as config; give TransformerConfig\(\*\*config\)$"):
        PUBLIC["Transformer"]({"d_model": 8})
    with pytest.raises(TypeError, match=r"not the class TransformerConfig, as config; give a Transf"):
        PUBLIC["Transformer"](PUBLIC["TransformerConfig"])
    with pytest.raises(
        TypeError, match=r"a function or None, not float, as length_penalty; .* GnmtLength\(0"
    ):
        PUBLIC["beam_search"](length_penalty=0.6)
