"""Arguments of another kind: each public name refuses them by their name."""

from importlib import import_module
from inspect import signature

import pytest

from annotated_transformer.kinds import refuses_other_kinds

PARTS = " training decoding evaluation interop inspection model text modern plotting".split(" ")
PACKAGES = [import_module(f"annotated_transformer.{part}".rstrip(".")) for part in PARTS]
PUBLIC = {name: getattr(package, name) for package in PACKAGES for name in package.__all__}
NOT_CALLED = (  # base classes, what functions return, and what is called often
    "Batch BleuScore Candidate ClassBatch Engine EpochMetrics Hypotheses LayerStates Observation Plot "
    "RankedTranslation Score StepDecoder TrainableModel TrainingStopped TranslatedText Translation Update "
    "causal_mask clean decoder_mask padding_mask"
).split()
LAYERS = [
    n for n, one in PUBLIC.items() if hasattr(one, "forward") and "config" not in signature(one).parameters
]
UNCHECKED = "dtype", "keep", "kind", "mode"  # NumPy checks the first, and a function its choices


class Unfit:
    """Of no kind that an argument may have."""


@pytest.mark.message
@pytest.mark.parametrize("name", [n for n in PUBLIC if callable(PUBLIC[n]) and n not in NOT_CALLED + LAYERS])
def test_message_each_public_name_says_which_argument_is_of_another_kind(name: str):
    for argument, parameter in signature(PUBLIC[name]).parameters.items():
        if parameter.kind is not parameter.VAR_POSITIONAL and argument not in UNCHECKED:
            with pytest.raises((TypeError, ValueError), match=rf"\b{argument}\b.*[;,] "):
                PUBLIC[name](**{argument: Unfit()})


@pytest.mark.message
def test_law_what_a_list_holds_is_checked_in_the_outermost_call():
    @refuses_other_kinds
    def count(texts: list[str], inside: bool = False) -> int:
        return count([3]) if inside else len(texts)

    assert count([], inside=True) == 1
    with pytest.raises(TypeError, match=r"texts\[0\] must be a string, not int"):
        count([3])


@pytest.mark.message
def test_message_what_a_list_holds_and_the_way_out():
    from annotated_transformer.evaluation import chrf
    from annotated_transformer.text import encode_pairs

    with pytest.raises(TypeError, match=r"^chrf: argument hypotheses\[1\] must be a string, not int; give"):
        chrf(["a", 3], ["a", "b"])
    tokenizer = PUBLIC["Tokenizer"].train(["one"], vocab_size=300)
    for texts in (["one", "two"], [("one",)]):
        with pytest.raises(TypeError, match=r"texts\[0\] must be a tuple of 2, not (str|tuple of 1); give"):
            encode_pairs(tokenizer, texts)
    with pytest.raises(TypeError, match=r"model must be a Transformer, not Tokenizer; give it as tokenizer$"):
        PUBLIC["Translator"](tokenizer)
    with pytest.raises(TypeError, match=r"^OnnxDecoder.from_model: .* not Unfit; give a Transformer$"):
        PUBLIC["OnnxDecoder"].from_model(Unfit())
    with pytest.raises(TypeError, match=r"must be a Transformer or .*; give the one inside a wrapper, or"):
        PUBLIC["greedy_search"](Unfit())
    with pytest.raises(TypeError, match=r"not dict; give TransformerConfig\(\*\*config\)$"):
        PUBLIC["Transformer"]({"d_model": 8})
    with pytest.raises(TypeError, match=r"not the class TransformerConfig; give a Transf"):
        PUBLIC["Transformer"](PUBLIC["TransformerConfig"])
    with pytest.raises(
        TypeError, match=r"length_penalty must be a function or None, not float; .* GnmtLength\(0"
    ):
        PUBLIC["beam_search"](length_penalty=0.6)
