"""The command `evaluate`: splits, search options, metrics, protocols, and files."""

import re
from pathlib import Path

import pytest

from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation import bleu
from annotated_transformer.evaluation.metrics import chrf, ter
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.lines import read_lines
from tests.commands.conftest import DEVICE

HYPOTHESES = ["Ein Mann schläft im Park.", "Zwei Hunde spielen mit dem Ball.", "Ein Kind sitzt auf der Bank."]
REFERENCES = [
    "Ein Mann schläft in einem Park.",
    "Zwei hunde spielen mit dem Ball.",
    "Ein Kind sitzt auf der Bank!",
]
SCORES = {
    "bleu": bleu.sacrebleu_13a(HYPOTHESES, REFERENCES),
    "chrf": chrf(HYPOTHESES, REFERENCES),
    "chrf++": chrf(HYPOTHESES, REFERENCES, word_order=2),
    "ter": ter(HYPOTHESES, REFERENCES, language="de"),
}
NAMES = {"bleu": "BLEU", "chrf": "chrF2", "chrf++": "chrF2++", "ter": "TER"}


@pytest.fixture
def asked(monkeypatch) -> list[tuple[list[str], dict]]:
    """Mock the translator: record its calls, and return HYPOTHESES, repeated as needed."""
    asked: list[tuple[list[str], dict]] = []

    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        asked.append((texts, search))
        return (HYPOTHESES * len(texts))[: len(texts)]

    monkeypatch.setattr(Translator, "translate", translate)
    return asked


@pytest.fixture
def data(tmp_path: Path) -> Path:
    texts = {"test.en": ["A man.", "Two dogs.", "A child."], "test.de": REFERENCES, "found.txt": HYPOTHESES}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
    return tmp_path


def printed(*metrics: str) -> str:
    values = {name: getattr(score, "value", getattr(score, "bleu", None)) for name, score in SCORES.items()}
    return "".join(f"{NAMES[name]} = {values[name]:.2f}\n{SCORES[name].signature}\n" for name in metrics)


@pytest.mark.parametrize(
    ("options", "search"),
    [
        ([], {}),
        (["--beam", "3", "--alpha", "0"], {"beam_size": 3, "length_penalty": GnmtLength(0.0)}),
        (["--beam", "5", "--length-penalty", "plain"], {"beam_size": 5, "length_penalty": PlainLength(1.0)}),
    ],
)
def test_law_both_commands_use_the_search_options(folder, data, asked, options, search, run):
    run("translate", "--model", folder, *options, "A dog.")
    run("evaluate", "--model", folder, *options, "--data", data, "--split", "test")
    assert asked == [
        (texts, {"batch_size": 64, "length_penalty": None, "split": False} | search)
        for texts in (["A dog."], ["A man.", "Two dogs.", "A child."])
    ]


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("metrics", [("ter", "chrf"), ("bleu", "chrf", "chrf++", "ter")])
def test_law_each_metric_is_printed_in_the_given_order_for_a_model_and_for_files(folder, data, metrics, run):
    metric, new = ["--metric", " ,".join(metrics).upper()], data / "new.txt"
    of_model = run("evaluate", *metric, "--model", folder, "--data", data, "--output", new)
    assert of_model == (printed(*metrics), DEVICE)
    assert new.read_text("utf-8") == (data / "found.txt").read_text("utf-8")
    files = ["--hypotheses", new, "--references", data / "test.de"]
    assert run("evaluate", *metric, *files) == (printed(*metrics), "")
    out, _ = run("evaluate", *files, data / "found.txt")  # two references
    assert out.startswith("BLEU = 100.00\nnrefs:2|")


@pytest.mark.usefixtures("pretrained", "asked")
def test_law_bleu_is_computed_by_the_selected_protocol(data: Path, run):
    scores = {"sacrebleu": SCORES["bleu"], "multi30k": bleu.multi30k_bleu(HYPOTHESES, REFERENCES)}
    assert scores["sacrebleu"].bleu < scores["multi30k"].bleu - 1  # otherwise either would pass
    for protocol, score in scores.items():
        out, _ = run("evaluate", "--data", data, "--protocol", protocol)
        assert out == f"BLEU = {score.bleu:.2f}\n{score.signature}\n"
    files = ["--hypotheses", data / "found.txt", "--references", data / "test.de", "--target", "en"]
    assert "Moses-tokenized (en, " in run("evaluate", *files, "--protocol", "multi30k")[0]


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("", "en-de"),
        ("--source de --target en", "de-en"),
        ("--pretrained de-en", "de-en"),
    ],
)
def test_law_the_default_model_matches_the_languages(folder, data, monkeypatch, options, name, run):
    named: list[str] = []

    def load(name: str, **_: object) -> Translator:
        named.append(name)
        return Translator.from_folder(folder)

    monkeypatch.setattr(Translator, "from_pretrained", load)
    run("evaluate", "--data", data, *options.split())
    assert named == [name]


def test_law_evaluation_splits_train_files_as_training_does(folder, tmp_path, asked, run):
    for language in ("en", "de"):
        text = "".join(f"{language} {i}.\n" for i in range(101))
        (tmp_path / f"train.{language}").write_text(text, encoding="utf-8")
    corpus = load_corpus("files", folder=tmp_path)
    files = ["--train-source", tmp_path / "train.en", "--train-target", tmp_path / "train.de"]
    for where in (["--data", tmp_path], [*files, "--source", "en", "--target", "de"]):
        _, err = run("evaluate", *where, "--split", "test", "--model", folder)
        assert asked.pop()[0] == [source for source, _ in corpus.splits["test"]]
        assert err == f"{corpus.summary()}\n{DEVICE}"


def test_law_a_long_split_is_translated_in_parts_and_written_one_per_line(folder, data, monkeypatch, run):
    texts = [f"The man sees {number} dogs." for number in range(19)]
    for language in ("en", "de"):
        (data / f"own.{language}").write_text("".join(f"{text}\n" for text in texts))
    parts: list[int] = []

    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        parts.append(len(texts))
        return [f"{text}\u2028\x1b[31m" for text in texts]  # a model may generate any byte

    monkeypatch.setattr(Translator, "translate", translate)
    files = ["--test-source", data / "own.en", "--test-target", data / "own.de"]
    run("evaluate", "--model", folder, *files, "--output", data / "out.gz", "--batch-size", 2)
    assert parts == [8, 8, 3]
    assert read_lines(data / "out.gz") == [f"{text}\\u2028\\x1b[31m" for text in texts]


@pytest.mark.message
def test_message_all_texts_that_cannot_be_translated_are_reported_before_translating(
    folder: Path, data: Path, asked: list[tuple[list[str], dict]], run
):
    (data / "test.en").write_text(f"A man.\n{'A' * 50}\nTwo\x01 dogs.\n", encoding="utf-8")
    _, err = run("evaluate", "--data", data, "--model", folder, status=2)
    long, control = err.splitlines()
    assert long.startswith("error: pair 2 of test ('AAA")
    assert control.startswith("pair 3 of test has the control character U+0001, character 4 of 'Two")
    assert control.endswith("; remove it; or remove these pairs")
    assert asked == []


@pytest.mark.message
def test_message_translations_of_a_split_that_were_cut_off(folder: Path, data: Path, run):
    _, err = run("evaluate", "--model", folder, "--data", data)
    report = r"^warning: 3 of 3 translations were cut off: the translation of 'A man\.' was cut off"
    assert re.search(report, err, re.MULTILINE)
