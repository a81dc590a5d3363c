"""What the model in the package promises, as it lies there: it is small, translates, and says what it is."""

import json
import tomllib
from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer import checkpoint
from annotated_transformer.decoding import pretrained
from annotated_transformer.decoding.translator import Translator
from benchmarks.model_card import model_card
from benchmarks.ship import RESULTS, describe_file

WEATHER = "The weather is nice today."
NAMES = ["en-de"]


@pytest.fixture(params=NAMES)
def folder(request: pytest.FixtureRequest) -> Path:
    return pretrained.PLACE / request.param


@pytest.fixture
def results(folder: Path) -> dict:
    return json.loads((RESULTS / f"weights_{folder.name}.json").read_text(encoding="utf-8"))["results"]


def test_law_these_models_come_with_the_package():
    assert sorted(path.name for path in pretrained.PLACE.iterdir()) == NAMES


def test_law_a_model_is_whole_and_small(folder: Path):
    assert sorted(path.name for path in folder.iterdir()) == sorted([*checkpoint.FILES, "README.md"])
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 8_000_000
    checkpoint.load(folder)


def test_law_the_weather_is_translated():
    translator = Translator.from_pretrained()
    assert translator.translate([WEATHER])[0] in {
        "Das Wetter ist heute schön.",
        "Heute ist das Wetter schön.",
    }
    (explained,) = translator.explain([WEATHER])
    assert explained.score < 0
    assert explained.attention.shape[2:] == (len(explained.target_tokens), len(explained.source_tokens))


def test_law_the_first_command_of_the_readme_translates(capsys: pytest.CaptureFixture[str]):
    assert command_line.main(["translate", WEATHER]) == 0
    assert capsys.readouterr().out.splitlines() == Translator.from_pretrained().translate([WEATHER])


def test_law_it_says_what_its_results_say(folder: Path, results: dict):
    translator = Translator.from_folder(folder)
    for found in (results["examples"], results["beyond"]):
        assert translator.translate(list(found)) == list(found.values())


def test_law_it_cleans_what_it_reads(folder: Path):
    _, tokenizer = checkpoint.load(folder)
    assert tokenizer.normalize(" „Ja“,\u00a0 sagte er\u200b. ") == '"Ja", sagte er.'


def test_law_the_results_are_of_these_files(folder: Path, results: dict):
    assert {name: describe_file(folder / name) for name in checkpoint.FILES} == results["files"]


def test_law_the_card_is_made_of_the_results(folder: Path):
    record = json.loads((RESULTS / f"weights_{folder.name}.json").read_text(encoding="utf-8"))
    assert (folder / "README.md").read_text(encoding="utf-8") == model_card(record)


def test_law_the_card_says_terms_score_and_command(folder: Path, results: dict):
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "Attribution: www.manythings.org/anki and tatoeba.org\n" in card
    assert "Licence: CC BY 2.0, https://creativecommons.org/licenses/by/2.0\n" in card
    assert f"| {results['scores']['test, beam 5']['bleu']:.2f} |" in card
    assert "\npython -m annotated_transformer evaluate --corpus tatoeba --data data " in card


def test_law_every_file_of_it_goes_into_the_wheel(root: Path, folder: Path):
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["annotated_transformer"]
    packed = {path for pattern in patterns for path in (root / "annotated_transformer").glob(pattern)}
    assert packed >= set(folder.iterdir()) > set()
