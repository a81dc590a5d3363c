"""Sampling options: the seed determines the samples, and each filter option is a logits processor."""

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.decoding.sampling import Temperature, TopK, TopP
from annotated_transformer.decoding.translator import Translator


@pytest.mark.usefixtures("pretrained")
def test_law_samples_depend_on_the_seed(capsys: pytest.CaptureFixture[str]):
    said = []
    for options in ([], ["--seed", "0"], ["--seed", "1"], ["--seed", "1", "--temperature", "1e-9"]):
        assert command_line.main(["translate", "--sample", *options, "Two dogs.", "A child"]) == 0
        said.append(capsys.readouterr().out)
    assert command_line.main(["translate", "Two dogs.", "A child"]) == 0
    assert said[0] == said[1] != said[2] != said[3] == capsys.readouterr().out
    assert said[2].count("\n") == 2


@pytest.mark.usefixtures("pretrained")
def test_law_sampling_options_are_logits_processors(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    asked: list[dict[str, object]] = []

    def sample(self: Translator, texts: list[str], **options: object) -> list[str]:
        asked.append(options)
        return texts

    monkeypatch.setattr(Translator, "sample", sample)
    options = ["--top-p", "0.5", "--temperature", "2", "--top-k", "3", "--batch-size", "7"]
    assert command_line.main(["translate", "--sample", "A"]) == 0
    assert command_line.main(["translate", "--sample", *options, "A"]) == 0
    assert [one["logits_processors"] for one in asked] == [[], [Temperature(2.0), TopK(3), TopP(0.5)]]
    assert [one["batch_size"] for one in asked] == [64, 7]
