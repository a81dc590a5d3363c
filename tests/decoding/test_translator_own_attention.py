"""A Translator takes a model with an attention of other code, from memory and from a folder."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer import registry
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.decoding.kv_cache import NoCache
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.registry import register_attention
from tests.checkpointing.small_models import TEXTS, make_model, make_tokenizer
from tests.own_models import grouped, relative


class Whole(nn.Module):
    """An attention without the parts of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = MultiHeadAttention(12, 3)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.inner(query, key, value, mask)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setattr(registry, "_attentions", {})
    register_attention("relative")(relative)
    register_attention("grouped")(grouped)
    register_attention("whole")(lambda config, place: Whole())


@pytest.mark.usefixtures("unchecked")
def test_law_a_folder_with_a_registered_attention_is_translated_by_default(tmp_path: Path):
    model, tokenizer = make_model(attention="relative"), make_tokenizer()
    checkpoint.save(tmp_path, model, tokenizer)
    expected = Translator(model, tokenizer, decoder=NoCache).translate(TEXTS)
    with pytest.warns(UserWarning, match="^decoding without a cache, which is slower: decoder"):
        found = Translator.from_folder(tmp_path).translate(TEXTS)
    assert found == expected
    checkpoint.save(tmp_path, make_model(attention="grouped"), tokenizer)
    grouped_one = Translator.from_folder(tmp_path)  # by KeyValueCache, without a warning
    assert grouped_one.translate(TEXTS) == Translator(
        grouped_one.model, tokenizer, decoder=NoCache
    ).translate(TEXTS)


@pytest.mark.message
def test_message_an_attention_without_weights_has_none_to_explain():
    translator = Translator(make_model(attention="whole"), make_tokenizer(), decoder=NoCache)
    with pytest.raises(
        ValueError, match=r"Whole computes no weights to observe; pass its weights through a sub"
    ):
        translator.explain(TEXTS)


def test_law_the_explanation_of_a_registered_attention_has_its_weights():
    translator = Translator(make_model(attention="grouped"), make_tokenizer())
    (first, _) = translator.explain(TEXTS)
    torch.testing.assert_close(first.attention.sum(dim=-1), torch.ones_like(first.attention[..., 0]))
