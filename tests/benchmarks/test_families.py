"""The benchmark that reads the parts of well-known models, on small layers of our own, and its result."""

import pytest
from torch import nn

from annotated_transformer.book.results import read_result
from benchmarks import families


class Layer(nn.Module):
    """A layer whose norms are before its sub-layers."""

    def forward(self, x):
        x = x + self.input_norm(self.x)
        x = self.attn(x)
        return self.post_norm(x) + self.mlp(x)


def test_law_calls_are_read_in_their_order():
    assert families.calls(Layer()) == "nsns"
    assert families.where_norms_are("nsns") == "before"
    assert families.where_norms_are("snsn") == "after, on the branch"


@pytest.mark.message
def test_message_unknown_orders_are_refused():
    with pytest.raises(
        ValueError, match=r"the calls 'nn' are none of \[.*'nsns'.*\]; look at the layer's forward"
    ):
        families.where_norms_are("nn")


def test_law_the_layer_is_the_last_of_a_stack_of_two():
    stack = nn.Sequential(nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)]), nn.ModuleList([nn.ReLU()]))
    assert families.layer_of(stack) is stack[0][1]


def test_oracle_the_result_agrees_with_the_reports():
    rows = read_result("families")["rows"]
    assert list(rows) == list(families.FAMILIES.values())
    mistral, mixtral = rows["Mistral 7B"], rows["Mixtral 8x7B"]
    assert [mistral[k] for k in ("layers", "heads", "kv_heads", "d_k", "window")] == [32, 32, 8, 128, 4096]
    assert (mixtral["experts"], mixtral["active"]) == (8, 2)
    assert rows["GPT-2"]["positions"] == "learned"
    assert rows["T5"]["biases"] == []
