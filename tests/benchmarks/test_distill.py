"""Distillation at toy size: each step uses the one before it, a killed run resumes, and tries are listed."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.files import fingerprint
from annotated_transformer.checkpointing.training_state_file import STATE_FILE
from annotated_transformer.config import BASE, TINY
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.sentence_pairs import Languages
from annotated_transformer.text.toy.pairs import toy_pairs
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe
from benchmarks import distill, model_card, ship
from benchmarks.distill import FURTHER, STUDENT, TEACHER, TUNING, translations_of
from benchmarks.ensemble import ensemble
from benchmarks.quality import read_epochs
from benchmarks.shipped_model import SHAPE

pytestmark = [pytest.mark.usefixtures("one_thread", "unchecked")]
SMALL = Recipe(
    shape=replace(TINY, vocab_size=301, num_layers=1, d_model=8, d_ff=16, num_heads=2),
    training=TrainingConfig(steps=5, batch_tokens=151, warmup_steps=3, max_lr=1e-2),
)
MORE = [pair.source for pair in toy_pairs(24)[18:]]


def steps(number: int) -> Recipe:
    return replace(SMALL, training=replace(SMALL.training, steps=number))


@pytest.fixture
def corpus() -> Corpus:
    texts = [(pair.source, pair.target) for pair in toy_pairs(18)]
    splits = {"train": texts[:11], "val": texts[11:14], "test": texts[14:]}
    return Corpus(
        name="toy", splits=splits, skipped={}, terms="", cleaned=True, languages=Languages("en", "de")
    )


@pytest.fixture
def run(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict]:
    """Return a function that runs the program at toy size, and returns the content of its result file."""
    recipes = {"TEACHER": steps(7), "STUDENT": steps(5), "FURTHER": steps(3), "TUNING": steps(2)}
    for name, recipe in recipes.items():
        monkeypatch.setattr(distill, name, recipe)
    monkeypatch.setattr(distill, "PART", 7)
    monkeypatch.setattr(distill, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(distill, "load_corpus", lambda name, **_: corpus)

    def call(*options: str, out: str = "out") -> dict:
        given = ["--data", "data", "--out", str(tmp_path / out), "--vocab-size", "311", "--threads", "1"]
        monkeypatch.setattr(sys, "argv", ["distill", *given, *options])
        distill.main()
        place = tmp_path / ("results" if "--chosen" in options else out)
        return json.loads((place / "shipped_en-de.json").read_text("utf-8"))

    return call


def tries(folder: Path) -> list[dict]:
    return json.loads((folder / "results" / "tries_distill.json").read_text("utf-8"))["tries"]


def trained_on(folder: Path) -> str:
    """Return the fingerprint of the training pairs of the run in `folder`."""
    with safe_open(folder / STATE_FILE, framework="pt") as file:
        return json.loads(file.metadata()["state"])["identity"]["corpus"]


def test_law_the_recipes_have_the_shapes_that_the_readme_promises():
    assert TEACHER.shape == replace(BASE, vocab_size=8000, max_length=256, dropout=0.3)
    assert {recipe.shape for recipe in (STUDENT, FURTHER, TUNING)} == {SHAPE}


def test_law_teachers_teach_a_student_that_is_fine_tuned_on_real_pairs(run, corpus, tmp_path):
    file = tmp_path / "more.en"
    file.write_text("\n".join(MORE), encoding="utf-8")
    found = run("--teachers", "2", "--monolingual", str(file), "--seed", "3")
    results, out = found["results"], tmp_path / "out"
    about = results["distillation"]

    teachers = [out / "teacher-0", out / "teacher-1"]
    states = [checkpoint.load(folder)[0].state_dict() for folder in teachers]
    assert not torch.equal(*(state["embedding.weight"] for state in states))  # other seeds
    sources = list(dict.fromkeys([*(source for source, _ in corpus.splits["train"]), *MORE]))
    expected = ensemble(teachers).translate(sources, beam_size=5)
    parts = [json.loads(path.read_text("utf-8")) for path in sorted((out / "translations").iterdir())]
    assert [text for part in parts for text in part["translations"]] == expected
    assert len(parts) == -(-len(sources) // 7)
    assert about["translated"] == len(sources)

    real = corpus.splits["train"]
    pairs = distill.with_pairs(corpus, zip(sources, expected, strict=True)).splits["train"]
    assert about["student"]["training_pairs"] == len(pairs) > len(real)
    assert results["training_pairs"] == len(real)
    assert trained_on(out / "student") == fingerprint(pairs) != fingerprint(real) == trained_on(out / "tuned")
    student, tuned = (checkpoint.load(out / name)[0].state_dict() for name in ("student", "tuned"))
    moved = max(float((student[name] - tuned[name]).abs().max()) for name in student)
    assert 0 < moved < 0.03  # two steps of 0.01 at most

    assert [each["epochs"][-1]["step"] for each in about["teachers"]] == [7, 7]
    assert (about["student"]["epochs"][-1]["step"], results["epochs"][-1]["step"]) == (5, 2)
    assert results["epochs"] == read_epochs(out / "tuned")  # so benchmarks.ship takes this folder
    assert about["teachers"][0]["recipe"]["shape"]["vocab_size"] == 311
    (kept,) = tries(tmp_path)
    assert list(kept["validation"]) == ["teachers", "student", "tuned"]
    assert kept["validation"] == about["validation"]
    assert kept["settings"]["monolingual"] == len(set(MORE))
    assert not (tmp_path / "results" / "shipped_en-de.json").exists()


def test_law_the_same_command_does_nothing_again_and_one_with_chosen_writes_the_result(
    run, tmp_path, monkeypatch
):
    first = run()
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.safetensors")}
    monkeypatch.setattr(distill, "cached", spy := Spy(distill.cached))
    second = run("--chosen")
    assert second["results"] == first["results"]
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.safetensors")} == before
    assert spy.computed == 0
    assert len(tries(tmp_path)) == 1


def test_law_a_run_that_was_killed_while_translating_resumes_with_the_next_part(
    run, corpus, tmp_path, monkeypatch
):
    """Also, other weights or sentences are translated anew."""
    translated = []

    class Killed(Translator):
        def translate(self, texts: list[str], **search: object) -> list[str]:
            if translated:
                raise KeyboardInterrupt
            translated.append(texts)
            return super().translate(texts, **search)

    def killed(folders: list[Path], device: str) -> Translator:
        return Killed(*checkpoint.load(folders[0]))

    with monkeypatch.context() as patch:
        patch.setattr(distill, "ensemble", killed)
        with pytest.raises(KeyboardInterrupt):
            run()
    monkeypatch.setattr(distill, "cached", spy := Spy(distill.cached))
    run()
    sources = list(dict.fromkeys(source for source, _ in corpus.splits["train"]))
    assert translated == [sources[:7]]
    assert spy.computed == 1  # of two parts
    teachers = [tmp_path / "out" / "student"]
    for texts in (sources, sources[:5]):
        translations_of(texts, teachers, tmp_path / "out" / "translations", device="cpu")
    assert spy.computed == 4


def test_law_a_further_student_starts_from_the_shipped_model_whose_scores_are_recorded(
    run, corpus, tmp_path, monkeypatch
):
    run(out="shipped")
    shipped = tmp_path / "shipped" / "tuned"
    monkeypatch.setattr(distill, "before", lambda name: (shipped, {"before": {"scores": name}}))
    found = run("--further")["results"]
    assert found["before"] == {"scores": "en-de"}
    assert found["distillation"]["student"]["epochs"][-1]["step"] == 3
    old, new = (checkpoint.load(place)[0].state_dict() for place in (shipped, tmp_path / "out" / "student"))
    assert 0 < max(float((old[name] - new[name]).abs().max()) for name in old) < 0.04  # three steps
    assert [each["settings"]["further"] for each in tries(tmp_path)] == [False, True]


def test_law_the_tuned_model_can_be_shipped_with_a_card_that_names_its_teachers(
    run, corpus, tmp_path, monkeypatch
):
    training = run("--chosen", "--teachers", "2")
    monkeypatch.setattr(checkpoint, "PRETRAINED", tmp_path / "weights")
    monkeypatch.setattr(ship, "RESULTS", tmp_path / "results")
    ship.ship(tmp_path / "out" / "tuned", corpus, training, source="en", target="de")
    card = " ".join((tmp_path / "weights" / "en-de" / "README.md").read_text("utf-8").split())
    about = training["results"]["distillation"]
    pairs, sources = about["student"]["training_pairs"], about["translated"]
    assert (
        f"Before the last of these runs, it was trained on {pairs} pairs for 5 updates: on the real pairs, "
        f"and on {sources} sentences with the translations of 2 larger models together (sequence-level"
    ) in card
    about["teachers"].pop()
    assert "with the translations of a larger model (seq" in model_card.card_of_distillation(about)


@pytest.mark.message
def test_message_no_teacher(run):
    with pytest.raises(ValueError, match="0 teachers translate nothing; give 1 or more"):
        run("--teachers", "0")


class Spy:
    """Count how often what is cached is computed."""

    def __init__(self, cached: Callable[..., object]) -> None:
        self.cached, self.computed = cached, 0

    def __call__(self, file: Path, key: dict, compute: Callable[[], object]) -> object:
        def counted() -> object:
            self.computed += 1
            return compute()

        return self.cached(file, key, counted)
