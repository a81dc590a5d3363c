"""Shipping a model: its files, results, and model card agree."""

import dataclasses
import hashlib
import json
import re
from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.config import TINY
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.corpus_sources import TATOEBA
from annotated_transformer.text.toy.pairs import toy_pairs
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe, train_from_recipe
from benchmarks import ship as module
from benchmarks.model_card import model_card, write_card
from benchmarks.quality import describe_training
from benchmarks.record import RESULTS, write_result
from benchmarks.ship import BEYOND, EXAMPLES, join, ship
from tests.fixtures import unchecked_shapes

RECIPE = Recipe(
    shape=dataclasses.replace(TINY, vocab_size=301, num_layers=1, d_model=8, d_ff=16, num_heads=2),
    training=TrainingConfig(steps=7, batch_tokens=499, warmup_steps=3, max_lr=1e-2),
    average=2,
)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    texts = [(pair.target, pair.source) for pair in toy_pairs(97)]
    splits = {"train": texts[:85], "val": texts[85:92], "test": texts[92:]}
    return Corpus(name="toy", splits=splits, skipped={}, terms=TATOEBA.terms, cleaned=True)


@pytest.fixture(scope="module")
def shipped(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ship a model trained for a few steps, and return the folder of its weights and results."""
    place = tmp_path_factory.mktemp("shipped")
    with unchecked_shapes():
        train_from_recipe(RECIPE, corpus, place / "model", seed=3)
    results = describe_training(RECIPE, corpus, place / "model")
    write_result(place / "training.json", seed=3, results=results)
    training = json.loads((place / "training.json").read_text(encoding="utf-8"))
    with pytest.MonkeyPatch.context() as patch, unchecked_shapes():
        patch.setattr(checkpoint, "PRETRAINED", place / "weights")
        patch.setattr(module, "RESULTS", place)
        ship(place / "model", corpus, training, source="de", target="en")
    return place


@pytest.fixture
def record(shipped: Path) -> dict:
    return json.loads((shipped / "weights_de-en.json").read_text(encoding="utf-8"))


def test_law_the_shipped_files_hold_the_model_in_half_precision_and_a_cleaning_tokenizer(shipped, record):
    folder = shipped / "weights" / "de-en"
    assert sorted(path.name for path in folder.iterdir()) == sorted([*checkpoint.FILES, "README.md"])
    for file, about in record["results"]["files"].items():
        data = (folder / file).read_bytes()
        assert about == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (trained, _), (model, tokenizer) = checkpoint.load(shipped / "model"), checkpoint.load(folder)
    for key, tensor in trained.state_dict().items():
        assert torch.equal(model.state_dict()[key], tensor.half().float())
    assert tokenizer.normalize("„Ja“") == '"Ja"'


@pytest.mark.usefixtures("unchecked")
def test_law_the_results_can_be_reproduced_with_the_shipped_files(shipped: Path, record: dict):
    translator = Translator.from_folder(shipped / "weights" / "de-en")
    for part, texts in {"examples": EXAMPLES["de"], "beyond": BEYOND["de"]}.items():
        found = record["results"][part]
        assert list(found) == texts
        assert translator.translate(list(found)) == list(found.values())
    scores = record["results"]["scores"]
    assert list(scores) == ["val, beam 1", "val, beam 5", "test, beam 1", "test, beam 5"]
    assert [score["texts"] for score in scores.values()] == [7, 7, 5, 5]
    assert [score["texts"] for score in record["results"]["joined"].values()] == [2, 1]


def test_law_neighbors_are_joined_in_both_languages():
    pairs = [(f"a{i}.", f"b{i}.") for i in range(7)]
    assert join(pairs, 3) == [("a0. a1. a2.", "b0. b1. b2."), ("a3. a4. a5.", "b3. b4. b5.")]
    assert join(pairs, 1) == pairs


def test_law_the_card_is_generated_from_the_results(shipped, record, monkeypatch):
    card = shipped / "weights" / "de-en" / "README.md"
    assert card.read_text(encoding="utf-8") == model_card(record)
    card.write_bytes(b"of an older template")
    monkeypatch.setattr(checkpoint, "PRETRAINED", shipped / "weights")
    write_card("de-en", shipped)
    assert card.read_text(encoding="utf-8") == model_card(record)
    assert record["results"]["parameters"] == record["results"]["training"]["results"]["parameters"]
    changed = json.loads(json.dumps(record))
    changed["results"]["scores"]["test, beam 5"]["bleu"] = 12.345
    changed["results"]["parameters"] = 7_654_321
    assert re.search(r"\| test, beam 5 \| 5 \| 12\.3[45] \|", model_card(changed))
    assert "7,654,321 parameters" in model_card(changed)


def test_law_the_card_names_each_stage_of_training_in_order(record: dict):
    further = json.loads(json.dumps(record))
    run = further["results"]["training"]
    run["command"], run["results"]["before"] = "python -m second", record["results"]
    run["results"]["epochs"][-1]["step"] = 7_654
    steps = record["results"]["training"]["results"]["epochs"][-1]["step"]
    card = model_card(further)
    assert f"for {steps} and then 7,654 updates" in card
    assert card.index(record["results"]["training"]["command"]) < card.index("python -m second")


@pytest.mark.parametrize(
    ("name", "title", "options"),
    [
        ("en-de", "English to German", "--data data --split test"),
        ("de-en", "German to English", "--data data --source de --target en --split test"),
    ],
)
def test_law_the_card_states_the_translation_direction(name: str, title: str, options: str):
    card = model_card(json.loads((RESULTS / f"weights_{name}.json").read_text(encoding="utf-8")))
    assert card.startswith(f"# {title}, trained on Tatoeba\n")
    assert f"evaluate --corpus tatoeba {options} --beam 5 --fast\n" in card
    assert f'translate --pretrained {name} "{EXAMPLES[name[:2]][0]}"\n' in card


@pytest.mark.message
def test_message_a_model_with_the_result_file_of_another(shipped, corpus, monkeypatch):
    monkeypatch.setattr(checkpoint, "PRETRAINED", shipped / "weights")
    training = json.loads((shipped / "training.json").read_text(encoding="utf-8"))
    training["results"]["epochs"][-1]["training_loss"] += 1e-9
    whole = {file: file.read_bytes() for file in (shipped / "weights" / "de-en").iterdir()}
    message = r"the training run in .*model ended with .*; give the folder of that run, and its --source and"
    with pytest.raises(ValueError, match=message):
        ship(shipped / "model", corpus, training, source="de", target="en")
    assert {file: file.read_bytes() for file in (shipped / "weights" / "de-en").iterdir()} == whole
