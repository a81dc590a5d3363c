"""What the score on Multi30k promises: the model reads prepared text, and is judged on what people wrote."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from annotated_transformer import checkpoint
from annotated_transformer.config import TINY
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.tokenizer import Tokenizer
from annotated_transformer.text.toy import toy_pairs
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe
from benchmarks import multi30k
from benchmarks.multi30k import STUDENT, TEACHER, diversified, judge, train

ENGLISH = ["A man sees the dog's ball.", "Here a man watches the woman."]
GERMAN = ["Der Mann sieht den Ball, der rollt.", "Hier sieht ein Mann der Frau zu."]
PREPARED = {
    "a man sees the dog 's ball .": "der mann sieht den ball , der rollt .",
    "here a man watches the woman .": "hier sieht ein mann der frau zu .",
}


class Learned:
    """A translator that knows two sentences by heart."""

    def translate(self, texts: list[str], *, beam_size: int, length_penalty: PlainLength) -> list[str]:
        assert length_penalty == PlainLength()
        return [PREPARED[text] if beam_size == 5 else "der mann sieht den mann ." for text in texts]


def test_law_the_model_reads_prepared_text_and_is_judged_on_what_people_wrote(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(multi30k.Translator, "from_folder", lambda folder: Learned())
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
    training=TrainingConfig(steps=11, batch_tokens=499, warmup_steps=3, peak=1e-2),
    both_ways=11,
)


@pytest.fixture
def corpus() -> Corpus:
    texts = [(pair.source, pair.target) for pair in toy_pairs(53)]
    return Corpus(name="toy", splits={"train": texts[:41], "val": texts[41:]}, skipped={}, terms="")


def test_law_a_student_goes_on_from_its_teacher_with_what_that_makes_of_the_corpus(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(multi30k, "TEACHER", SMALL)
    short = replace(SMALL.training, steps=2)
    monkeypatch.setattr(multi30k, "STUDENT", replace(SMALL, training=short, both_ways=0))
    found = train(corpus, tmp_path, seed=5)
    teacher = Translator.from_folder(tmp_path / "teacher")
    search = {"beam_size": 5, "length_penalty": PlainLength()}
    sources, targets = map(list, zip(*corpus.splits["train"], strict=True))
    forward, backward = (teacher.translate(texts, **search) for texts in (sources, targets))
    known = json.loads((tmp_path / "translations.json").read_text("utf-8"))
    assert (known["forward"], known["backward"]) == (forward, backward)
    more, minutes = diversified(corpus, tmp_path / "teacher", tmp_path)
    assert minutes == known["minutes"] > 0
    assert found["student"]["training_pairs"] == len(more.splits["train"])
    assert found["student"]["epochs"][-1]["step"] == 2
    assert found["minutes"] >= found["translating_minutes"]
    before, after = (checkpoint.load(tmp_path / name)[0].state_dict() for name in ("teacher", "student"))
    moved = max(float((before[name] - after[name]).abs().max()) for name in before)
    assert 0 < moved < 0.05  # by two steps of 0.01 at most


def test_law_translations_are_kept_for_their_teacher_and_made_anew_for_another(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked = []

    class Pool:
        def __init__(self, *rest: object, **options: object) -> None: ...

        def __enter__(self) -> "Pool":
            return self

        def __exit__(self, *error: object) -> None: ...

        def map(self, work: object, folders: object, texts: tuple[list[str], list[str]]) -> list[list[str]]:
            asked.append(texts)
            source, target = corpus.splits["train"][0]
            return [[target, "", *texts[0][2:]], [source, *["wörter " * 99] * (len(texts[1]) - 1)]]

    monkeypatch.setattr(multi30k, "ProcessPoolExecutor", Pool)
    tokenizer = Tokenizer.train((text for pair in corpus.splits["train"] for text in pair), vocab_size=301)
    first, second = (Transformer(replace(SMALL.shape, vocab_size=tokenizer.vocab_size)) for _ in range(2))
    pairs = corpus.splits["train"]
    sources, targets = map(list, zip(*pairs, strict=True))
    for _ in range(2):
        checkpoint.save(tmp_path, first, tokenizer)
        found, _ = diversified(corpus, tmp_path, tmp_path)
        assert asked == [(sources, targets)]
        assert found.splits["val"] == corpus.splits["val"]
        # nothing that was there already, nothing empty, nothing of another length
        assert found.splits["train"] == pairs + list(zip(sources[2:], sources[2:], strict=True))
    checkpoint.save(tmp_path, second, tokenizer)
    diversified(corpus, tmp_path, tmp_path)
    assert len(asked) == 2


def test_law_teacher_and_student_have_the_published_shape_and_one_goes_both_ways():
    for recipe in (TEACHER, STUDENT):
        assert replace(recipe.shape, dropout=TINY.dropout) == TINY
    assert TEACHER.both_ways >= TEACHER.training.steps
    assert STUDENT.both_ways == 0
