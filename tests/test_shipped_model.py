"""The packaged models are complete and small, translate, and match their results and model cards."""

from pathlib import Path

import pytest

from annotated_transformer import Translator
from annotated_transformer.book.results import read_result
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.decoding import KeyValueCache, NoCache
from annotated_transformer.decoding.kv_cache import MakeDecoder
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from benchmarks.model_card import model_card
from benchmarks.shipped_model import describe_file

NAMES = ["de-en", "en-de"]
pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(params=NAMES)
def folder(request: pytest.FixtureRequest) -> Path:
    return checkpoint.PRETRAINED / request.param


@pytest.fixture
def results(folder: Path) -> dict:
    return read_result(f"weights_{folder.name}")


def test_law_these_models_come_with_the_package():
    assert sorted(path.name for path in checkpoint.PRETRAINED.iterdir()) == NAMES


def test_law_a_model_is_complete_and_small(folder: Path):
    assert sorted(path.name for path in folder.iterdir()) == sorted([*checkpoint.FILES, "README.md"])
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 8_000_000
    checkpoint.load(folder)


@pytest.mark.parametrize("decoder", [FastKeyValueCache, KeyValueCache, NoCache])
def test_law_float16_gives_the_translations_of_float32(folder: Path, results: dict, decoder: MakeDecoder):
    model, tokenizer = checkpoint.load(folder)
    texts = list(results["examples"])
    expected = Translator(model, tokenizer).explain(texts)
    translations = Translator(model.half(), tokenizer, decoder=decoder).explain(texts)
    assert [each.text for each in translations] == [each.text for each in expected]
    for one, other in zip(translations, expected, strict=True):
        assert one.log_prob == pytest.approx(other.log_prob, abs=0.02)


def test_law_translations_equal_those_in_the_committed_results(folder: Path, results: dict):
    translator = Translator.from_folder(folder)
    for expected in (results["examples"], results["beyond"]):
        assert translator.translate(list(expected), split=False) == list(expected.values())


def test_law_the_tokenizer_cleans_its_input(folder: Path):
    _, tokenizer = checkpoint.load(folder)
    assert tokenizer.normalize(" „Ja“,\u00a0 sagte er\u200b. ") == '"Ja", sagte er.'
    assert tokenizer.cleaning().to_json() == tokenizer.to_json()  # as the package cleans today


def test_law_the_results_describe_these_files(folder: Path, results: dict):
    assert {name: describe_file(folder / name) for name in checkpoint.FILES} == results["files"]


def test_law_the_card_is_generated_from_the_results(folder: Path, results: dict):
    assert (folder / "README.md").read_text(encoding="utf-8") == model_card(results)
