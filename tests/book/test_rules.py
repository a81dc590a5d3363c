"""What an exercise rules out is found in the reader's function, and in those of the reader that it calls."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.book.exercises.rules import PACKAGE, expect_without
from annotated_transformer.book.exercises.verdict import judge
from annotated_transformer.model.attention import ScaledDotProductAttention, attention_weights

attend = ScaledDotProductAttention()
RULES = PACKAGE, "torch.nn", "softmax", "sacrebleu"


@judge
def check_rules(answer, *rules):
    expect_without(answer, *rules)
    return "nothing is used that is ruled out."


def by_helper(x):
    return helper(x)


def helper(x):
    return x.softmax(dim=-1)


def softmax(x):
    raised = torch.exp(x)
    return raised / raised.sum()


def by_own_softmax(x):
    return softmax(x)


def importing(x):
    import sacrebleu

    return sacrebleu


total = torch.zeros(2)  # as another cell of the notebook may have it


def own_total(x):
    total = sum(x)
    return [y / total for y in x]


def closing_over(function):
    return lambda x: function(x)


def test_law_a_name_of_the_readers_own_is_allowed():
    for answer in (by_own_softmax, closing_over(by_own_softmax)):
        assert check_rules(answer, *RULES), answer


def test_law_a_variable_of_the_answer_is_not_taken_for_one_of_the_notebook():
    assert check_rules(own_total, "torch")
    assert check_rules(lambda x: x / total, "torch").message.startswith("your answer uses total from torch,")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("uses softmax,", lambda x: x.softmax(dim=-1)),
        ("uses F from torch.nn,", lambda x: F.relu(x)),
        ("uses nn,", lambda x: nn.Linear),
        ("uses attend from annotated_transformer,", lambda x: attend(x, x, x)),
        ("uses attention_weights from annotated_transformer, which", attention_weights),
        ("uses sacrebleu,", importing),
        ("uses softmax, which", by_helper),
        ("uses softmax, which this", closing_over(helper)),
    ],
)
def test_law_what_is_ruled_out_is_named_wherever_it_stands(words, answer):
    verdict = check_rules(answer, *RULES)
    assert not verdict
    assert verdict.message.startswith(f"your answer {words}"), verdict
    assert check_rules(answer, "another")
