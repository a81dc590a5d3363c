"""Corpora, devices and models that options describe: own files, defaults, and error messages."""

import argparse
import gzip
import re
from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.commands.evaluate_options import add_evaluate_options
from annotated_transformer.commands.loading import (
    chosen_languages,
    describe_device,
    own_files,
    read_corpus,
    take_device,
)
from annotated_transformer.commands.options import take_languages
from annotated_transformer.commands.train_options import add_train_options
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.corpus import CORPORA, KnownCorpus, SplitPairs, load_corpus
from annotated_transformer.text.corpus_sources import Source
from annotated_transformer.text.pair_files import Table, TwoFiles
from annotated_transformer.text.sentence_pairs import Languages


@pytest.fixture
def taken(monkeypatch) -> list[int]:
    """Mock three CUDA devices, and record which are set."""
    taken: list[int] = []
    for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    return taken


def test_law_the_cpu_is_the_default_without_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)  # as some drivers report
    assert take_device(None) == take_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", [None, "cuda"])
@pytest.mark.parametrize(("rank", "device"), [(None, 0), ("0", 0), ("2", 2)])
def test_law_each_process_uses_its_own_device(taken, monkeypatch, name, rank, device):
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
        monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert take_device(name) == torch.device("cuda", device)
    assert taken == [device]


@pytest.mark.message
def test_message_no_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"--device cuda, but PyTorch \d.* finds no CUDA device; give"):
        take_device("cuda")


@pytest.mark.message
@pytest.mark.parametrize(
    "given", [{"RANK": "0", "WORLD_SIZE": "4"}, {"RANK": "3", "WORLD_SIZE": "4"}, {"RANK": "3"}]
)
def test_message_every_process_refuses_more_processes_than_devices(taken, monkeypatch, given):
    for name, value in given.items():
        monkeypatch.setenv(f"LOCAL_{name}", value)
    words = "4 processes of this machine need a CUDA device each, and PyTorch finds 3; give torchrun --nproc-"
    with pytest.raises(ValueError, match=words):
        take_device(None)
    assert taken == []


def test_law_the_log_names_the_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"a GPU, {device.index}")
    assert describe_device(torch.device("cpu")) == "cpu"
    assert describe_device(torch.device("cuda", 2)) == "cuda:2 (a GPU, 2)"


# The user's own files.

PAIRS = [(f"Sentence {i}.", f"Phrase {i}.") for i in range(211)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch) -> Path:
    """Make a folder current that holds the pairs as `a.txt` and `b.txt`, and as `pairs.tsv`."""
    monkeypatch.chdir(tmp_path)
    for name, lines in zip(("a.txt", "b.txt"), zip(*PAIRS, strict=True), strict=True):
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    Path("pairs.tsv").write_text("".join(f"x\t{b}\t{a}\n" for a, b in PAIRS), encoding="utf-8")
    return tmp_path


def parsed(*arguments: str, command: str = "train") -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    if command == "evaluate":
        add_evaluate_options(parser)
        return parser.parse_args(arguments)
    add_train_options(parser)
    return parser.parse_args(["--out", "out", *arguments])


TRAIN = ["--train-source", "a.txt", "--train-target", "b.txt"]
TABLE = ["--train-tsv", "pairs.tsv", "--columns", "3,2"]


def test_law_own_files_are_split_as_in_a_folder(place: Path):
    found = [read_corpus(parsed(*files, "--source", "en", "--target", "fr")) for files in (TRAIN, TABLE)]
    for name, new in {"a.txt": "train.en", "b.txt": "train.fr"}.items():
        (place / name).rename(place / new)
    expected = load_corpus("files", folder=place, target="fr")
    assert {"train", "val", "test"} == expected.splits.keys()
    for corpus in found:
        assert corpus.splits["train"] != PAIRS
        assert sorted(pair for split in corpus.splits.values() for pair in split) == sorted(PAIRS)
        assert corpus.languages == expected.languages == ("en", "fr")
    assert found[0].splits == expected.splits
    assert found[0].summary() == expected.summary()


@pytest.mark.parametrize(
    ("there", "back"),
    [(TRAIN, ["--train-source", "b.txt", "--train-target", "a.txt"]), (TABLE, [*TABLE[:-1], "2,3"])],
)
def test_law_both_directions_have_the_same_splits(there: list[str], back: list[str]):
    first, second = (read_corpus(parsed(*files)) for files in (there, back))
    assert first.splits["test"]
    assert first.splits == second.reversed().splits


def test_law_the_languages_of_own_files_are_known_if_both_are_given():
    assert chosen_languages(parsed()) == ("en", "de")
    assert chosen_languages(parsed("--target", "es")) == ("en", "es")
    for given in ([], ["--source", "fr"], ["--target", "fr"]):
        assert chosen_languages(parsed(*TRAIN, *given)) is None
        assert read_corpus(parsed(*TRAIN, *given)).languages is None
    assert chosen_languages(parsed(*TRAIN, "--source", "fr", "--target", "en")) == ("fr", "en")


def test_law_validation_files_are_the_validation_split():
    Path("v.en.gz").write_bytes(gzip.compress(b"One.\nTwo.\n"))
    Path("v.fr").write_text("Un.\nDeux.\n")
    corpus = read_corpus(parsed(*TRAIN, "--valid-source", "v.en.gz", "--valid-target", "v.fr"))
    assert corpus.splits == {"train": PAIRS, "valid": [("One.", "Un."), ("Two.", "Deux.")]}
    assert corpus.validation == "valid"
    assert "The validation loss is that of valid." in corpus.summary()


def test_law_files_of_every_split_are_read_by_evaluate():
    options = parsed(*TRAIN, "--test-tsv", "pairs.tsv", command="evaluate")
    files = {"train": TwoFiles(Path("a.txt"), Path("b.txt")), "test": Table(Path("pairs.tsv"))}
    assert own_files(options) == files
    assert own_files(parsed(command="evaluate")) == {}


def test_law_given_languages_come_before_those_of_the_model():
    options = parsed("--target", "fr", command="evaluate")
    assert take_languages(options, None) == ("en", "fr") == (options.source, options.target)
    assert take_languages(parsed(command="evaluate"), Languages("es", "it")) == ("es", "it")


NAMED = "has no effect on files that options name one by one; leave it out, or leave out these files"


@pytest.mark.message
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (TRAIN[:2], "--train-source is given without --train-target; give both, or --train-tsv"),
        (TRAIN[2:], "--train-target is given without --train-source; give both, or --train-tsv"),
        (
            [*TRAIN, "--valid-target", "b.txt"],
            "--valid-target is given without --valid-source; give both, or --valid-tsv",
        ),
        (
            ["--valid-tsv", "pairs.tsv"],
            "--valid-tsv is given without training files; give --train-source and --train-target, or "
            "--train-tsv",
        ),
        (
            [*TABLE, *TRAIN[2:]],
            "--train-target and --train-tsv are both given; give one file with both sides, or two files",
        ),
        (
            [*TRAIN, "--columns", "1,2"],
            "--columns has an effect only on TSV files; give --train-tsv, or leave it out",
        ),
        ([*TRAIN, "--corpus", "toy"], f"--corpus {NAMED}"),
        ([*TABLE, "--data", "."], f"--data {NAMED}"),
        (
            ["--train-source", "none", *TRAIN[2:]],
            "--train-source none does not exist; give the name of a file",
        ),
        ([*TRAIN[:3], "."], "--train-target . is not a regular file; give another name"),
        ([*TRAIN[:3], "./a.txt"], "--train-source and --train-target are both a.txt; give two files"),
        (
            [*TABLE[:-1], "3,7"],
            "".join(f"pairs.tsv, line {line} has 3 columns\n" for line in range(1, 11))
            + f"and {len(PAIRS) - 10} more; separate the columns by tabs, or give other --columns",
        ),
        (
            [*TABLE[:-1], "x,y"],
            "the first line of pairs.tsv names no column 'y' (it has x, Phrase 0., Sentence 0.); give other "
            "--columns, such as 1,2",
        ),
        ([*TABLE[:-1], "2,2"], "--columns 2,2: source and target would be the same column; give two"),
        (
            [*TABLE[:-1], "0,2"],
            "--columns 0,2: columns are counted from 1; give the two numbers, or two names",
        ),
    ],
)
def test_message_files_that_do_not_fit(arguments: list[str], sentence: str, capsys):
    train = ["train", "--steps", "1", "--source", "en", "--target", "fr", "--out", "out"]
    assert command_line.main([*train, *arguments]) == 2
    assert capsys.readouterr().err == f"error: {sentence}\n"
    assert not Path("out").exists()


@pytest.mark.message
@pytest.mark.parametrize("given", ["1", "1,2,3", "en,", ""])
def test_message_columns_that_are_not_two(given: str, capsys):
    with pytest.raises(SystemExit, match="2"):
        parsed("--columns", given)
    assert f"{given!r} is not two columns; give two, such as 1,2 or en,de" in capsys.readouterr().err


# Languages that a model stores.

SIZES = ["--num-layers", "1", "--d-model", "12", "--d-ff", "14", "--num-heads", "3", "--vocab-size", "300"]


def test_law_a_model_stores_its_languages(capsys):
    train = ["train", "--steps", "1", *SIZES, *TRAIN, "--average", "2"]
    languages = ["--source", "en", "--target", "zh"]
    assert command_line.main([*train, *languages, "--out", "known"]) == 0
    assert "warning: without --source" not in capsys.readouterr().err
    assert Translator.from_folder("known").languages == ("en", "zh")
    assert checkpoint.read_languages("known/epochs/00001") == ("en", "zh")
    assert command_line.main([*train, "--out", "unknown"]) == 0
    said = "warning: without --source and --target, the model does not store its languages; give the codes of"
    assert said in capsys.readouterr().err
    assert Translator.from_folder("unknown").languages is None
    evaluate = ["evaluate", "--test-source", "a.txt", "--test-target", "b.txt", "--model"]
    for model, tokenizer in {"known": "zh", "unknown": "13a"}.items():
        assert command_line.main([*evaluate, model]) == 0
        assert f"|tok:{tokenizer}|" in capsys.readouterr().out


def test_law_an_entry_in_the_table_of_corpora_is_all_that_the_commands_need(tmp_path, monkeypatch, capsys):
    def read(folder: Path, source: str, target: str) -> SplitPairs:
        words = (folder / "words.txt").read_text().split()
        pairs = [(f"{source} {word}", f"{target} {word}") for word in words]
        return SplitPairs({"train": pairs[:7], "val": pairs[7:], "test": pairs[7:]}, {"rude": 3})

    french, source = Languages("en", "fr"), Source(terms="Terms: by the cook.")
    soup = KnownCorpus(about="words alone", read=read, languages=french, source=source, cleaned=True)
    monkeypatch.setitem(CORPORA, "soup", soup)
    (tmp_path / "words.txt").write_text(" ".join(f"w{i}" for i in range(11)))
    add_train_options(parser := argparse.ArgumentParser())
    assert "soup: words alone" in " ".join(parser.format_help().split())
    out, data = str(tmp_path / "out"), ["--corpus", "soup", "--data", str(tmp_path)]
    assert command_line.main(["train", *data, "--steps", "1", *SIZES, "--out", out]) == 0
    said = capsys.readouterr().err
    assert "soup: train 7, val 4, test 4 pairs; left out: 3 rude\n" in said
    assert "\nTerms: by the cook.\n" in said
    assert checkpoint.read_languages(out) == french
    assert checkpoint.load(out)[1].cleans
    assert command_line.main(["evaluate", *data, "--model", out]) == 0


@pytest.mark.message
@pytest.mark.usefixtures("pretrained")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["translate", "A", "--source", "fr"], "--source fr, but the model en-de translates"),
        (["translate", "--pretrained", "en-de", "A", "--source", "fr"], "--source fr, but the model en-de"),
        (["evaluate", "--pretrained", "en-de", "--target", "fr"], "--target fr, but the model en-de"),
        (["evaluate", "--model", "{folder}", "--source", "de"], "--source de, but the model {folder}"),
    ],
)
def test_message_a_language_that_the_model_does_not_translate(folder, arguments, sentence, capsys):
    filled = [argument.replace("{folder}", str(folder)) for argument in arguments]
    assert command_line.main(filled) == 2
    error = re.escape(sentence.replace("{folder}", str(folder)))
    option = "--target" if "--target" in arguments else "--source"
    said = rf"error: {error}.* from en to de; leave {option} out, or give another model\n"
    assert re.fullmatch(said, capsys.readouterr().err)
