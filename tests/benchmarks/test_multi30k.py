"""The Multi30k benchmark trains on lowercased, tokenized text and scores against the original references."""

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors import safe_open

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.files import fingerprint
from annotated_transformer.checkpointing.training_state_file import STATE_FILE
from annotated_transformer.config import TINY
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.toy.pairs import toy_pairs
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe
from benchmarks import multi30k
from benchmarks.multi30k import DRAWN, SHARPER, Teacher, diversified, judge, train
from benchmarks.tables import PARTS

ENGLISH = ["A man sees the dog's ball.", "Here a man watches the woman."]
GERMAN = ["Der Mann sieht den Ball, der rollt.", "Hier sieht ein Mann der Frau zu."]
PREPARED = {
    "a man sees the dog 's ball .": "der mann sieht den ball , der rollt .",
    "here a man watches the woman .": "hier sieht ein mann der frau zu .",
}


class Learned:
    """A mock translator whose output is correct with a beam of 5 and wrong otherwise."""

    def translate(self, texts: list[str], *, beam_size: int, length_penalty: PlainLength) -> list[str]:
        assert length_penalty == PlainLength()
        return [PREPARED[text] if beam_size == 5 else "der mann sieht den mann ." for text in texts]


def test_law_the_model_translates_prepared_text_and_is_scored_on_original_references(monkeypatch, capsys):
    monkeypatch.setattr(multi30k.Translator, "from_folder", lambda folder, fast: Learned())
    pairs = list(zip(ENGLISH, GERMAN, strict=True))
    splits = {"train": pairs, "val": pairs, "test": pairs[:1]}
    plain = Corpus(name="multi30k", splits=splits, skipped={}, terms="")
    found = judge(Path("folder"), plain, ["val", "test"])
    assert list(found) == ["multi30k", "cased 13a"]
    for scores in found.values():
        assert list(scores) == ["val, beam 1", "val, beam 5", "test, beam 1", "test, beam 5"]
        assert [score["texts"] for score in scores.values()] == [2, 2, 1, 1]
        assert scores["val, beam 5"]["bleu"] == pytest.approx(100)
        assert scores["val, beam 1"]["bleu"] < 50
    signatures = [scores["val, beam 5"]["signature"] for scores in found.values()]
    assert "lowercased" in signatures[0]
    assert "case:mixed" in signatures[1]
    assert "cased 13a, val, beam 5: 100.00" in capsys.readouterr().out


SMALL = Recipe(
    shape=replace(TINY, vocab_size=301, num_layers=1, d_model=8, d_ff=16, num_heads=2),
    training=TrainingConfig(steps=5, batch_tokens=499, warmup_steps=3, max_lr=1e-2),
)
BRIEF = replace(SMALL, training=replace(SMALL.training, steps=2))
SEARCH = {"beam_size": 5, "length_penalty": PlainLength()}


pytestmark = pytest.mark.usefixtures(
    "one_thread"
)  # like the teachers; a resumed run warns if the number of threads differs


@pytest.fixture
def corpus() -> Corpus:
    texts = [(pair.source, pair.target) for pair in toy_pairs(29)]
    return Corpus(name="toy", splits={"train": texts[:23], "val": texts[23:]}, skipped={}, terms="")


@pytest.mark.usefixtures("unchecked")
def test_law_two_teachers_generate_pairs_and_the_student_starts_from_the_forward_teacher(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    both = replace(SMALL, bidirectional=2)
    on = replace(both, training=replace(SMALL.training, steps=7))
    for name, recipe in {"BOTH_WAYS": both, "FORWARD": on, "BACKWARD": BRIEF, "STUDENT": BRIEF}.items():
        monkeypatch.setattr(multi30k, name, recipe)

    def map_here(function: object, teachers: tuple[Teacher, ...]) -> Iterator[object]:
        """Call the function in this process; new ones would have to import PyTorch."""
        ForkingPickler.dumps((function, teachers))  # as if they were sent to another process
        return map(function, teachers)

    pool = contextlib.nullcontext(SimpleNamespace(map=map_here))
    monkeypatch.setattr(multi30k, "ProcessPoolExecutor", lambda *_, **__: pool)
    found = train(corpus, tmp_path, seed=5)
    forward, backward = (Translator.from_folder(tmp_path / name) for name in ("forward", "backward"))
    sources, targets = map(list, zip(*corpus.splits["train"], strict=True))
    rng = torch.Generator().manual_seed(5)
    drawn = [backward.sample(targets, generator=rng, logits_processors=[SHARPER]) for _ in range(DRAWN)]
    assert drawn[0] != drawn[1]
    likeliest = forward.translate(sources, **SEARCH)
    english = [backward.translate(targets, **SEARCH), *drawn]
    more = diversified(corpus, [likeliest], english)
    assert found["student"]["training_pairs"] == len(more.splits["train"])
    state = tmp_path / "backward" / STATE_FILE
    with safe_open(state, framework="pt") as file:
        identity = json.loads(file.metadata()["state"])["identity"]
    assert identity["corpus"] == fingerprint(list(zip(targets, sources, strict=True)))
    learned = {
        name: checkpoint.load(tmp_path / name)[0].state_dict()
        for name in ("bidirectional", "forward", "backward", "student")
    }
    for before, after in (
        ("bidirectional", "forward"),
        ("bidirectional", "backward"),
        ("forward", "student"),
    ):
        pairs = ((learned[before][name], learned[after][name]) for name in learned[before])
        assert 0 < max(float((one - other).abs().max()) for one, other in pairs) < 0.02  # two steps of 0.01
    assert [found[name]["epochs"][-1]["step"] for name in ("bidirectional", "forward")] == [5, 7]
    assert found["forward"]["epochs"][0] == found["bidirectional"]["epochs"][0]  # the same training run
    cache = tmp_path / "backward" / "translations.json"
    assert json.loads(cache.read_text("utf-8"))["translations"] == english
    monkeypatch.setattr(multi30k, "Translator", None)
    again = train(corpus, tmp_path, seed=5)  # resumes at the end, and does not translate again
    assert again["student"] == found["student"]
    changed = cache.read_text("utf-8").replace('"weights": "', '"weights": "of another model: ')
    cache.write_text(changed, "utf-8")
    with pytest.raises(AttributeError, match="'from_folder'"):
        train(corpus, tmp_path, seed=5)


def test_law_diversifying_a_corpus_adds_only_new_and_plausible_pairs(corpus: Corpus):
    pairs = corpus.splits["train"]
    sources, targets = map(list, zip(*pairs, strict=True))
    forward = [targets[0], "", *sources[2:]]
    backward = [sources[0], *["wörter " * 99] * (len(targets) - 1)]
    found = diversified(corpus, [forward, forward], [backward])
    assert found.splits["val"] == corpus.splits["val"]
    assert found.splits["train"] == pairs + list(zip(sources[2:], sources[2:], strict=True))


def scores(splits: list[str]) -> dict:
    """Return a different BLEU for each split and search."""
    return {"multi30k": {f"{split}, beam 5": {"bleu": len(split)} for split in splits}}


@pytest.mark.parametrize("test", [True, False])
def test_law_only_a_complete_result_replaces_the_committed_one(tmp_path, monkeypatch, test):
    pairs = list(zip(ENGLISH, GERMAN, strict=True))
    splits = dict.fromkeys(("train", "val", "test_2016_flickr"), pairs)
    plain = Corpus(name="multi30k", splits=splits, skipped={}, terms="")
    monkeypatch.setattr(multi30k, "load_corpus", lambda name, folder: plain)
    monkeypatch.setattr(multi30k, "train", lambda corpus, out, seed: {"seen": list(corpus.splits)})
    monkeypatch.setattr(multi30k, "weights_digest", lambda folder: folder.name)
    monkeypatch.setattr(multi30k, "judge", lambda folder, corpus, splits: scores(splits))
    monkeypatch.setattr(multi30k, "RESULTS", tmp_path / "results")
    options = ["--data", "data", "--out", str(tmp_path / "out"), "--seed", "7", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["multi30k", *options, *(["--test"] if test else [])])
    multi30k.main()
    (file,) = tmp_path.rglob("multi30k_seed7.json")
    assert file.parent == tmp_path / ("results" if test else "out")
    judged = ["val", "test_2016_flickr"] if test else ["val"]
    assert json.loads(file.read_text())["results"] == {"seen": ["train", "val"], "scores": scores(judged)}
    (kept,) = json.loads((tmp_path / "results" / "tries_multi30k.json").read_text())["tries"]
    assert (kept["seed"], kept["weights"], kept["validation"]) == (7, "student", {"student": 3})
    assert list(kept["settings"]) == ["drawn", *PARTS]
    assert kept["settings"]["student"]["training"]["steps"] == multi30k.STUDENT.training.steps
