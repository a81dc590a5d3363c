"""Models whose code is not in the package are saved and loaded, and a folder says which code it needs."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from torch import nn

from annotated_transformer import registry
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.averaging import average
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.registry import register_attention
from tests.checkpointing.small_models import FILES, make_model, make_tokenizer, same
from tests.own_models import (
    Classifier,
    ClassifierConfig,
    LanguageModel,
    RelativeAttention,
    grouped,
    make,
    relative,
)

VOCAB = 263


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setattr(registry, "_attentions", {})
    register_attention("relative")(relative)
    register_attention("grouped")(grouped)


def config_of(folder: Path) -> dict[str, object]:
    return json.loads((folder / "config.json").read_text())


@pytest.mark.parametrize("stored", [None, torch.float16])
@pytest.mark.parametrize(("kind", "changes"), [(LanguageModel, {}), (Classifier, {"num_classes": 7})])
def test_law_loading_restores_a_model_of_another_class(tmp_path: Path, kind, changes, stored):
    model = make(kind, vocab_size=VOCAB, **changes).double()
    checkpoint.save(tmp_path, model, make_tokenizer(), stored=stored)
    loaded, tokenizer = checkpoint.load(tmp_path, kind)
    assert type(loaded) is kind
    assert not loaded.training
    expected = {name: x.to(stored).double() for name, x in model.state_dict().items()}
    assert all(torch.equal(x, expected[name]) for name, x in loaded.state_dict().items())
    assert loaded.config == model.config
    assert tokenizer.to_json() == make_tokenizer().to_json()
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    assert config_of(tmp_path)["code"] == {"model": f"tests.own_models.{kind.__name__}"}


@pytest.mark.parametrize("attention", ["relative", "grouped"])
def test_law_loading_restores_a_registered_attention(tmp_path: Path, attention: str):
    model = make_model(attention=attention, num_layers=2)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, RelativeAttention):
                module.bias.normal_()
    checkpoint.save(tmp_path, model, make_tokenizer())
    loaded, _ = checkpoint.load(tmp_path)
    assert same(loaded, model)
    src, tgt = torch.tensor([[5, 7, 11, 2, 0], [3, 2, 0, 0, 0]]), torch.tensor([[1, 13, 17], [1, 19, 0]])
    assert torch.equal(loaded(src, tgt), model.eval()(src, tgt))
    assert not torch.allclose(loaded(src, tgt), make_model(num_layers=2).eval()(src, tgt))
    assert config_of(tmp_path)["code"] == {"attention": f"tests.own_models.{attention}"}
    assert same(average([tmp_path, tmp_path])[0], model)


def test_law_a_model_of_this_package_alone_names_no_code(tmp_path: Path):
    model = make_model()
    checkpoint.save(tmp_path, model, make_tokenizer())
    expected = dataclasses.asdict(model.config)
    del expected["tied_output"]  # left out where it is the paper's, as before there was a choice
    assert config_of(tmp_path) == expected
    assert same(checkpoint.load(tmp_path, Transformer)[0], model)


class Tied(LanguageModel):
    """Has its output matrix twice in its state."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.to_logits = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.to_logits.weight = self.embedding.weight


def test_law_weights_that_the_class_ties_stay_tied(tmp_path: Path):
    model = make(Tied, vocab_size=VOCAB)
    checkpoint.save(tmp_path, model, make_tokenizer())
    loaded, _ = checkpoint.load(tmp_path, Tied)
    assert loaded.to_logits.weight is loaded.embedding.weight
    assert torch.equal(loaded.embedding.weight, model.embedding.weight)


@pytest.mark.message
def test_message_loading_as_another_class(tmp_path: Path):
    checkpoint.save(tmp_path / "own", make(Classifier, vocab_size=VOCAB), make_tokenizer())
    checkpoint.save(tmp_path / "ours", make_model(), make_tokenizer())
    name = r"tests\.own_models\.Classifier"
    for folder, kind, words in (
        ("own", None, rf"a Classifier, and no code; import {name}, and load again by load\(folder, Classifi"),
        ("own", LanguageModel, rf"a Classifier \({name}\), not a LanguageModel; load it by load\(folder, Cl"),
        ("ours", LanguageModel, r"a Transformer \(\S+\), not a LanguageModel; load it by load\(folder\)$"),
    ):
        with pytest.raises(ValueError, match=f"holds {words}"):
            checkpoint.load(tmp_path / folder, kind)


@pytest.mark.message
def test_message_loading_without_the_attention(tmp_path: Path, monkeypatch):
    checkpoint.save(tmp_path, make_model(attention="relative"), make_tokenizer())
    monkeypatch.setattr(registry, "_attentions", {})
    words = (
        r"needs the attention 'relative', and a model folder holds no code; import the module of "
        r"tests\.own_models\.relative, which registers that name, and load again$"
    )
    with pytest.raises(ValueError, match=words):
        checkpoint.load(tmp_path)


class Parted(LanguageModel):
    def __init__(self, config: TransformerConfig, parts: object) -> None:
        super().__init__(config)


class Renamed(Classifier):
    config_type = TransformerConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class Listed(TransformerConfig):
    """Has a field that JSON would change."""

    sizes: tuple[int, ...] = (2, 3)


class WithList(LanguageModel):
    config_type = Listed


SMALL = {"vocab_size": VOCAB, "d_model": 12, "num_heads": 3, "d_ff": 14}


@pytest.mark.message
@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (Parted(TransformerConfig(**SMALL), None), TypeError, r"loading calls Parted\(config\), which"),
        (Renamed(ClassifierConfig(**SMALL)), TypeError, "Renamed.config is a ClassifierConfig, and load"),
        (WithList(Listed(**SMALL)), ValueError, r"WithList.config has sizes=\(2, 3\), and a model folder "),
    ],
)
def test_message_a_model_that_loading_could_not_build(tmp_path: Path, model, error, words: str):
    with pytest.raises(error, match=words):
        checkpoint.save(tmp_path, model, make_tokenizer())
    assert not list(tmp_path.iterdir())
