"""What the score on Multi30k promises: the model reads prepared text, and is judged on what people wrote."""

from pathlib import Path

import pytest

from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.text.corpus import Corpus
from benchmarks import multi30k
from benchmarks.multi30k import judge

ENGLISH = ["A man sees the dog's ball.", "Here a man watches the woman."]
GERMAN = ["Der Mann sieht den Ball, der rollt.", "Hier sieht ein Mann der Frau zu."]
PREPARED = {
    "a man sees the dog 's ball .": "der mann sieht den ball , der rollt .",
    "here a man watches the woman .": "hier sieht ein mann der frau zu .",
}


class Learned:
    """A translator that knows two sentences by heart."""

    def translate(self, texts: list[str], *, beam_size: int, length_penalty: PlainLength) -> list[str]:
        assert length_penalty == PlainLength(1.3)
        return [PREPARED[text] if beam_size == 5 else "der mann sieht den mann ." for text in texts]


def test_law_the_model_reads_prepared_text_and_is_judged_on_what_people_wrote(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(multi30k.Translator, "from_folder", lambda folder: Learned())
    pairs = list(zip(ENGLISH, GERMAN, strict=True))
    splits = {"train": pairs, "val": pairs, "test": pairs[:1]}
    plain = Corpus(name="multi30k", splits=splits, skipped={}, terms="")
    found = judge(Path("folder"), plain, ["val", "test"], alpha=1.3)
    assert found["alpha"] == 1.3
    assert list(found["scores"]) == ["multi30k", "cased 13a"]
    for scores in found["scores"].values():
        assert list(scores) == ["val, beam 1", "val, beam 5", "test, beam 1", "test, beam 5"]
        assert [score["texts"] for score in scores.values()] == [2, 2, 1, 1]
        assert scores["val, beam 5"]["bleu"] == pytest.approx(100)
        assert scores["val, beam 1"]["bleu"] < 50
    signatures = [scores["val, beam 5"]["signature"] for scores in found["scores"].values()]
    assert "lowercased" in signatures[0]
    assert "case:mixed" in signatures[1]
    assert "cased 13a, val, beam 5: 100.00" in capsys.readouterr().out
