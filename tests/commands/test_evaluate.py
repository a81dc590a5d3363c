"""The command `evaluate`: splits, search options, protocols, and error messages."""

from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation import bleu
from annotated_transformer.evaluation.metrics import chrf, ter
from annotated_transformer.text import corpus as corpora
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.text.lines import read_lines
from tests.commands.conftest import DEVICE

SAID = ["Ein Mann schläft im Park.", "Zwei Hunde spielen mit dem Ball.", "Ein Kind sitzt auf der Bank."]
MEANT = [
    "Ein Mann schläft in einem Park.",
    "Zwei hunde spielen mit dem Ball.",
    "Ein Kind sitzt auf der Bank!",
]


@pytest.fixture
def asked(monkeypatch) -> list[tuple[list[str], dict]]:
    """Mock the translator: record its calls, and return SAID, repeated as needed."""
    asked: list[tuple[list[str], dict]] = []

    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        asked.append((texts, search))
        return (SAID * len(texts))[: len(texts)]

    monkeypatch.setattr(Translator, "translate", translate)
    return asked


@pytest.fixture
def data(tmp_path: Path) -> Path:
    texts = {"en": ["A man.", "Two dogs.", "A child."], "de": MEANT}
    for language, lines in texts.items():
        (tmp_path / f"test.{language}").write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "search"),
    [
        ([], {}),
        (["--beam", "3", "--alpha", "0"], {"beam_size": 3, "length_penalty": GnmtLength(0.0)}),
        (["--beam", "5", "--length-penalty", "plain"], {"beam_size": 5, "length_penalty": PlainLength(1.0)}),
    ],
)
def test_law_both_commands_use_the_search_options(folder, data, asked, options, search):
    where = ["--model", str(folder), *options]
    assert command_line.main(["translate", *where, "A dog."]) == 0
    assert command_line.main(["evaluate", *where, "--data", str(data), "--split", "test"]) == 0
    assert asked == [
        (texts, {"batch_size": 64, "length_penalty": None} | search)
        for texts in (["A dog."], ["A man.", "Two dogs.", "A child."])
    ]


def test_law_a_long_split_is_translated_in_parts_whose_order_is_kept(folder, tmp_path, monkeypatch, capsys):
    texts = [f"The man sees {number} dogs." for number in range(19)]
    for language in ("en", "de"):
        (tmp_path / f"test.{language}").write_text("".join(f"{text}\n" for text in texts))
    parts: list[int] = []

    def translate(self: Translator, texts: list[str], **search: object) -> list[str]:
        parts.append(len(texts))
        return texts

    monkeypatch.setattr(Translator, "translate", translate)
    where = ["--model", str(folder), "--data", str(tmp_path), "--split", "test", "--batch-size", "2"]
    assert command_line.main(["evaluate", *where]) == 0
    assert parts == [8, 8, 3]
    assert "BLEU = 100.00" in capsys.readouterr().out


@pytest.mark.usefixtures("pretrained", "asked")
@pytest.mark.parametrize("protocol", [[], ["--protocol", "multi30k"]])
def test_law_bleu_is_computed_by_the_selected_protocol(data: Path, capsys, protocol: list[str]):
    scores = {"sacrebleu": bleu.sacrebleu_13a(SAID, MEANT), "multi30k": bleu.multi30k_bleu(SAID, MEANT)}
    assert scores["sacrebleu"].bleu < scores["multi30k"].bleu - 1  # otherwise either would pass
    assert command_line.main(["evaluate", "--data", str(data), "--split", "test", *protocol]) == 0
    expected = scores[(protocol or ["sacrebleu"])[-1]]
    assert capsys.readouterr().out == f"BLEU = {expected.bleu:.2f}\n{expected.signature}\n"


CHINESE = ["他去年春天住在北京。", "两只狗在公园里玩球。", "我喜欢音乐。"]


@pytest.mark.filterwarnings("always::UserWarning")
@pytest.mark.parametrize(
    ("language", "options", "tokenizer"),
    [
        ("zh-CN", [], "zh"),
        ("my", [], "char"),
        ("zh", ["--bleu-tokenizer", "char"], "char"),
        ("xx", [], "13a"),
    ],
)
def test_law_bleu_is_tokenized_as_the_target_language_needs(
    folder: Path, tmp_path: Path, monkeypatch, capsys, language: str, options: list[str], tokenizer: str
):
    monkeypatch.setattr(Translator, "translate", lambda *texts, **search: CHINESE)
    for name, lines in {"en": ["A man.", "Two dogs.", "I."], language: CHINESE}.items():
        (tmp_path / f"test.{name}").write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
    arguments = ["--data", str(tmp_path), "--split", "test", "--target", language, "--model", str(folder)]
    assert command_line.main(["evaluate", *arguments, *options]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("BLEU = 0.00\n" if tokenizer == "13a" else "BLEU = 100.00\n")
    assert f"|tok:{tokenizer}|" in out
    assert ("warning: split by 13a, the references have only 3 tokens for about" in err) is (
        tokenizer == "13a"
    )


@pytest.mark.usefixtures("asked")
def test_law_moses_uses_the_rules_of_the_target_language(folder: Path, data: Path, capsys):
    protocol = ["--protocol", "multi30k", "--source", "de", "--target", "en"]
    model = ["--model", str(folder)]  # which stores no languages
    arguments = ["--data", str(data), "--split", "test", *model, *protocol]
    assert command_line.main(["evaluate", *arguments]) == 0
    assert "Moses-tokenized (en, " in capsys.readouterr().out


@pytest.mark.message
@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--corpus", "toy", "--split", "dev", "--output", "o"],
            "toy has no split 'dev'; choose from train, val, test",
        ),
        (
            ["--corpus", "tatoeba"],
            "the folder of the corpus tatoeba is unknown; give --data, or set ANNOTATED_TRANSFORMER_DATA to "
            "it; annotated-transformer download tatoeba downloads it",
        ),
        (
            ["--corpus", "toy", "--target", "fr"],
            "the corpus toy has en and de, not en and fr; give --source en, --target de, or the reverse",
        ),
    ],
)
def test_message_a_user_error_is_one_sentence(arguments: list[str], sentence: str, capsys, monkeypatch):
    monkeypatch.delenv("ANNOTATED_TRANSFORMER_DATA", raising=False)
    monkeypatch.setattr(corpora, "TOY_PAIRS", 211)
    assert command_line.main(["evaluate", "--split", "test", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"error: {sentence}\n"


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("options", "name"),
    [
        ([], "en-de"),
        (["--source", "de", "--target", "en"], "de-en"),
        (["--source", "de", "--target", "en", "--pretrained", "de-en"], "de-en"),
        (["--pretrained", "de-en"], "de-en"),
    ],
)
def test_law_the_default_model_matches_the_languages(folder, data, monkeypatch, options, name):
    named: list[str] = []

    def load(name: str, **_: object) -> Translator:
        named.append(name)
        return Translator.from_folder(folder)

    monkeypatch.setattr(Translator, "from_pretrained", load)
    assert command_line.main(["evaluate", "--data", str(data), "--split", "test", *options]) == 0
    assert named == [name]


@pytest.mark.message
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--target", "xx", "--protocol", "multi30k"], "Moses has no rules for the language 'xx'; choose "),
        (
            ["--target", "ja"],
            "the tokenizer ja-mecab needs packages that are not installed; run pip install 'sacrebleu[ja]', "
            "or give another tokenizer, such as char",
        ),
        (["--bleu-tokenizer", ""], "there is no tokenizer '' for BLEU; choose from 13a, char,"),
        (["--bleu-tokenizer", "mecab"], "there is no tokenizer 'mecab' for BLEU; choose from 13a, char,"),
        (
            ["--bleu-tokenizer", "zh", "--protocol", "multi30k"],
            "--protocol multi30k tokenizes by Moses, not by --bleu-tokenizer zh; leave one out\n",
        ),
    ],
)
def test_message_a_language_or_a_tokenizer_is_refused_before_translating(
    folder: Path,
    data: Path,
    asked: list[tuple[list[str], dict]],
    monkeypatch,
    capsys,
    options: list[str],
    sentence: str,
):
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_ja_mecab.MeCab", None)
    (data / "test.de").rename(data / f"test.{options[1] if '--target' in options else 'de'}")
    arguments = ["--data", str(data), "--split", "test", "--model", str(folder), *options]
    assert command_line.main(["evaluate", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"error: {sentence}")
    assert asked == []


def test_law_evaluation_splits_train_files_as_training_does(folder, tmp_path, asked, capsys):
    for language in ("en", "de"):
        text = "".join(f"{language} {i}.\n" for i in range(101))
        (tmp_path / f"train.{language}").write_text(text, encoding="utf-8")
    corpus = load_corpus("files", folder=tmp_path)
    for split in ("test", "train"):
        arguments = ["--data", str(tmp_path), "--split", split, "--model", str(folder)]
        assert command_line.main(["evaluate", *arguments]) == 0
        assert asked.pop()[0] == [source for source, _ in corpus.splits[split]]
        assert capsys.readouterr().err == f"{corpus.summary()}\n{DEVICE}"


@pytest.mark.message
def test_message_all_texts_that_cannot_be_translated_are_reported_before_translating(
    folder: Path, data: Path, asked: list[tuple[list[str], dict]], capsys
):
    (data / "test.en").write_text(f"A man.\n{'A' * 50}\nTwo\x01 dogs.\n", encoding="utf-8")
    arguments = ["--data", str(data), "--split", "test", "--model", str(folder)]
    assert command_line.main(["evaluate", *arguments]) == 2
    long, control = capsys.readouterr().err.splitlines()
    assert long.startswith("error: pair 2 of test ('AAA")
    assert control.startswith("pair 3 of test has the control character U+0001, character 4 of 'Two")
    assert control.endswith("; remove it; or remove these pairs")
    assert asked == []


# Metrics, and files of translations.


@pytest.fixture
def files(data: Path, monkeypatch) -> list[str]:
    """Write translations, and return the options that evaluate them."""
    monkeypatch.chdir(data)
    for name, lines in {"found.txt": SAID, "same.txt": SAID, "two.txt": SAID[:2], "deu.txt": MEANT}.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["--hypotheses", "found.txt", "--references", "test.de"]


EXPECTED = {
    "bleu": bleu.sacrebleu_13a(SAID, MEANT),
    "chrf": chrf(SAID, MEANT),
    "chrf++": chrf(SAID, MEANT, word_order=2),
    "ter": ter(SAID, MEANT, language="de"),
}
NAMES = {"bleu": "BLEU", "chrf": "chrF2", "chrf++": "chrF2++", "ter": "TER"}


def printed(*metrics: str) -> str:
    values = {name: getattr(score, "value", getattr(score, "bleu", None)) for name, score in EXPECTED.items()}
    return "".join(f"{NAMES[name]} = {values[name]:.2f}\n{EXPECTED[name].signature}\n" for name in metrics)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("metrics", [("bleu",), ("ter", "chrf"), ("bleu", "chrf", "chrf++", "ter")])
def test_law_each_metric_is_printed_in_the_given_order_for_a_model_and_for_files(
    folder: Path, data: Path, files: list[str], metrics: tuple[str, ...], capsys
):
    option = ["--metric", " ,".join(metrics).upper()]
    model = ["--model", str(folder), "--data", str(data), "--output", "new.txt"]
    assert command_line.main(["evaluate", *option, *model]) == 0
    assert capsys.readouterr() == (printed(*metrics), DEVICE)
    assert Path("new.txt").read_text("utf-8") == Path("found.txt").read_text("utf-8")
    assert command_line.main(["evaluate", *option, *files]) == 0
    assert capsys.readouterr() == (printed(*metrics), "")


def test_law_translations_that_are_written_stay_one_per_line(folder: Path, data: Path, monkeypatch, capsys):
    odd = ["Ein\nMann\u2028schläft.", "", "Kind\x1b[31m"]  # a model may generate any byte
    monkeypatch.setattr(Translator, "translate", lambda self, texts, **search: odd)
    out = str(data / "out.gz")
    arguments = ["evaluate", "--data", str(data), "--output", out]
    assert command_line.main([*arguments, "--model", str(folder)]) == 0
    said = capsys.readouterr().out
    assert read_lines(Path(out)) == ["Ein\\nMann\\u2028schläft.", "", "Kind\\x1b[31m"]
    assert command_line.main(["evaluate", "--hypotheses", out, "--references", str(data / "test.de")]) == 0
    assert capsys.readouterr().out == said


def test_law_several_references_are_used_together(files: list[str], capsys):
    assert command_line.main(["evaluate", *files, "same.txt", "--metric", "bleu,ter"]) == 0
    value, signature, ter_value, ter_signature = capsys.readouterr().out.splitlines()
    assert (value, ter_value) == ("BLEU = 100.00", "TER = 0.00")
    assert signature.startswith("nrefs:2|")
    assert ter_signature.startswith("nrefs:2|")


def test_law_own_files_are_evaluated_under_any_name(folder, files, asked, capsys):
    own = ["--test-source", "test.en", "--test-target", "test.de"]
    assert command_line.main(["evaluate", "--model", str(folder), *own]) == 0
    assert asked.pop()[0] == ["A man.", "Two dogs.", "A child."]
    assert capsys.readouterr().out == printed("bleu")
    train = ["--train-source", "test.en", "--train-target", "test.de"]
    assert command_line.main(["evaluate", "--model", str(folder), *train, "--split", "train"]) == 0
    assert sorted(asked.pop()[0]) == ["A child.", "A man.", "Two dogs."]
    assert "There are only train files" in capsys.readouterr().err
    assert command_line.main(["evaluate", "--model", str(folder), *train]) == 2
    assert capsys.readouterr().err == "error: files has no split 'test'; choose from train\n"


REFERENCE = "line i of one must be a reference for line i of the other"
NO_EFFECT = "has no effect on --hypotheses, which are translated already; leave one of them out"
NO_BLEU = "has an effect only on BLEU; add bleu to --metric, or leave it out"
REPLACED = "would replace a file of the corpus; give another name"


@pytest.mark.message
@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--hypotheses", "found.txt"], "--hypotheses is given without --references; give both"),
        (["--references", "test.de"], "--references is given without --hypotheses; give both"),
        (
            ["--hypotheses", "two.txt", "--references", "test.de"],
            f"two.txt has 2 lines and test.de has 3; {REFERENCE}",
        ),
        (["{files}", "two.txt"], f"found.txt has 3 lines and two.txt has 2; {REFERENCE}"),
        (["{files}", "nowhere"], "--references nowhere does not exist; give the name of a file"),
        (
            ["--hypotheses", ".", "--references", "test.de"],
            "--hypotheses . is not a regular file; give another name",
        ),
        (["{files}", "--model", "m"], f"--model {NO_EFFECT}"),
        (["{files}", "--split", "test"], f"--split {NO_EFFECT}"),
        (["{files}", "--beam", "2"], f"--beam {NO_EFFECT}"),
        (["{files}", "--fast"], f"--fast {NO_EFFECT}"),
        (["{files}", "--test-source", "a"], f"--test-source {NO_EFFECT}"),
        (["{files}", "--output", "o"], f"--output {NO_EFFECT}"),
        (["{files}", "--metric", "ter", "--bleu-tokenizer", "zh"], f"--bleu-tokenizer {NO_BLEU}"),
        (["{files}", "--metric", "chrf,ter", "--protocol", "multi30k"], f"--protocol {NO_BLEU}"),
        (
            ["{files}", "same.txt", "--protocol", "multi30k"],
            "--protocol multi30k takes one reference, not 2; give one file",
        ),
        (["--data", ".", "--output", "./test.de"], f"--output test.de {REPLACED}"),
        (["--corpus", "multi30k", "--data", ".", "--output", "./test.de"], f"--output test.de {REPLACED}"),
        (["--corpus", "tatoeba", "--data", ".", "--output", "./deu.txt"], f"--output deu.txt {REPLACED}"),
        (
            ["--test-source", "found.txt", "--test-target", "same.txt", "--output", "same.txt"],
            f"--output same.txt {REPLACED}",
        ),
        (["--test-tsv", "same.txt", "--output", "same.txt"], f"--output same.txt {REPLACED}"),
        (
            ["--data", ".", "--output", "no/out"],
            "--output no/out cannot be written: there is no folder no; make it, or give another",
        ),
    ],
)
def test_message_files_and_options_that_do_not_fit(files, arguments, sentence, capsys):
    filled = [word for argument in arguments for word in (files if argument == "{files}" else [argument])]
    assert command_line.main(["evaluate", *filled]) == 2
    assert capsys.readouterr() == ("", f"error: {sentence}\n")


@pytest.mark.message
def test_message_an_unknown_metric(capsys):
    with pytest.raises(SystemExit, match="2"):
        command_line.main(["evaluate", "--metric", "bleu,comet"])
    said = "'comet' is not a metric; choose from bleu, chrf, chrf++, ter, separated by commas"
    assert said in capsys.readouterr().err
