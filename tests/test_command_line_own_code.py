"""The option --import: a module of the user's registers an attention, which the commands then use."""

import json
import sys
from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer import registry
from annotated_transformer.text import corpus as corpora

MODULE = """
from annotated_transformer import register_attention
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

class Mine(MultiHeadAttention):
    pass

@register_attention("mine")
def mine(config, place):
    return Mine(config.d_model, config.num_heads)
"""
TRAIN = ["train", "--corpus", "toy", "--steps", "1", "--vocab-size", "300", "--num-layers", "1"]
TRAIN += ["--d-model", "12", "--d-ff", "14", "--num-heads", "3", "--batch-tokens", "97"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "_attentions", {})
    monkeypatch.setattr(corpora, "TOY_PAIRS", 1009)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("my_parts_of_a_test", None)


@pytest.mark.message
@pytest.mark.filterwarnings("always")
@pytest.mark.usefixtures("unchecked")
def test_law_an_attention_of_a_module_is_trained_and_translated_with(tmp_path: Path, capsys, monkeypatch):
    (tmp_path / "my_parts_of_a_test.py").write_text(MODULE)
    (tmp_path / "config.json").write_text(json.dumps({"model": {"attention": "mine"}}))
    own = ["--import", "my_parts_of_a_test"]
    train = [*TRAIN, "--config", "config.json", "--out", "model"]
    assert command_line.main(train) == 2
    assert "attention='mine'; choose from" in capsys.readouterr().err.replace('"', "'")
    assert command_line.main([*train, *own]) == 0
    assert json.loads((tmp_path / "model" / "config.json").read_text())["attention"] == "mine"
    capsys.readouterr()
    translate = ["translate", "--model", "model", "the dog sleeps"]
    assert command_line.main([*translate, *own]) == 0
    assert "warning: decoding without a cache, which is slower: decoder" in capsys.readouterr().err
    monkeypatch.setattr(registry, "_attentions", {})
    assert command_line.main(translate) == 2
    assert "model needs the attention 'mine', and a model folder holds no code" in capsys.readouterr().err


@pytest.mark.message
def test_message_a_module_that_is_not_there(capsys):
    assert command_line.main(["translate", "--import", "my_lost_parts", "A man"]) == 2
    expected = (
        "error: --import my_lost_parts: there is no module my_lost_parts; give the name of one in this folder"
    )
    assert expected in capsys.readouterr().err
