"""The corpora, their splits, and the error messages about invalid files."""

import dataclasses
import gzip
import hashlib
import itertools
import os
import re
import zipfile
from pathlib import Path

import pytest

from annotated_transformer.text import corpus as module
from annotated_transformer.text.cleaning import clean
from annotated_transformer.text.corpus import CORPORA, DATA_VARIABLE, Corpus, load_corpus
from annotated_transformer.text.published_corpora import MULTI30K, TATOEBA
from annotated_transformer.text.sentence_pairs import Splits, read_pairs, split_names

COLUMNS = [(f"A{i} {'far ' * (i % 5)}b.", f"Ein C{i // 2} d.") for i in range(1009)]


def write(folder: Path, **files: bytes) -> None:
    for language, data in files.items():
        (folder / f"train.{language}").write_bytes(data)


@pytest.mark.message
def test_message_all_bad_lines_of_both_files_are_in_one_report(tmp_path: Path):
    write(tmp_path, en=b"One.\n\nThr\xe9\n \n", de=b"Eins.\nZw\xf6lf.\n\n")
    with pytest.raises(ValueError, match="remove empty lines") as error:
        read_pairs(tmp_path, "train")
    assert str(error.value).replace(f"{tmp_path}/", "") == (
        "train.en, line 2 is empty\n"
        "train.en, line 3: byte 4 is 0xe9, which is not UTF-8 (unexpected end of data)\n"
        "train.en, line 4 is empty\n"
        "train.de, line 2: byte 3 is 0xf6, which is not UTF-8 (invalid start byte)\n"
        "train.de, line 3 is empty\n"
        "train.en has 4 lines and train.de has 3; line i of one must translate line i of the other"
        "; remove empty lines from both files, and convert the text to UTF-8"
    )


@pytest.mark.message
def test_message_a_table_with_both_languages(tmp_path: Path):
    write(tmp_path, en=b"One.\tEins.\nTwo.\tZwei.\nThree.\n", de=b"Eins.\nZwei.\nDrei.\n")
    with pytest.raises(ValueError, match=r"train\.en has tabs in 2 of 3 lines, .* of one language only$"):
        read_pairs(tmp_path, "train")
    write(tmp_path, en=b"One.\t\nTwo\ttwo.\n\tThree.\n")
    assert [source for source, _ in read_pairs(tmp_path, "train")] == ["One.", "Two\ttwo.", "Three."]


@pytest.fixture(autouse=True)
def small_toy(monkeypatch):
    monkeypatch.setattr(module, "TOY_PAIRS", 307)


def tatoeba(folder: Path, lines: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "deu.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    return folder


def sentences(splits: Splits) -> dict[str, set[str]]:
    """Return each split's sentences in both languages, without case and punctuation."""
    return {
        split: {" ".join(re.findall(r"\w+", text.casefold())) for pair in pairs for text in pair}
        for split, pairs in splits.items()
    }


def all_pairs(corpus: Corpus) -> list[tuple[str, str]]:
    return sorted(itertools.chain(*corpus.splits.values()))


def test_law_tatoeba_has_english_first_and_keeps_every_clean_pair(tmp_path: Path):
    lines = [f" {en}\u00a0\t„{de}“\r" for en, de in COLUMNS]
    corpus = load_corpus("tatoeba", folder=tatoeba(tmp_path, lines))
    assert all_pairs(corpus) == sorted((clean(en), f'"{de}"') for en, de in COLUMNS)
    assert (corpus.skipped, corpus.cleaned) == ({"empty": 0, "mismatched": 0}, True)
    assert not load_corpus("toy").cleaned


def test_law_tatoeba_may_have_a_third_column_or_be_zipped(tmp_path: Path):
    plain = load_corpus("tatoeba", folder=tatoeba(tmp_path / "plain", [f"{en}\t{de}" for en, de in COLUMNS]))
    wide = tatoeba(tmp_path / "wide", [f"{en}\t{de}\tCC-BY 2.0 (somebody)" for en, de in COLUMNS])
    assert load_corpus("tatoeba", folder=wide) == plain
    (tmp_path / "packed").mkdir()
    with zipfile.ZipFile(tmp_path / "packed" / "deu-eng.zip", "w") as archive:
        archive.write(wide / "deu.txt", "deu.txt")
    assert load_corpus("tatoeba", folder=tmp_path / "packed") == plain


def test_law_tatoeba_counts_what_it_leaves_out(tmp_path: Path):
    bad = ["", "\t", "Go.\t", "\tGeh.", "Go.\t\u200b", "Yes.\teins zwei drei vier fünf sechs sieben"]
    lines = [f"{en}\t{de}" for en, de in COLUMNS]
    corpus = load_corpus("tatoeba", folder=tatoeba(tmp_path, [*lines[:5], *bad, *lines[5:]]))
    assert corpus.skipped == {"empty": 5, "mismatched": 1}
    assert sum(map(len, corpus.splits.values())) == len(COLUMNS)
    assert "; left out: 5 empty, 1 mismatched\n" in corpus.summary()
    assert corpus.summary().endswith(f"\n{TATOEBA.terms}")


@pytest.mark.parametrize("name", ["toy", "tatoeba"])
def test_law_german_as_source_reverses_the_same_pairs(tmp_path: Path, name: str):
    folder = tatoeba(tmp_path, [f"{en}\t{de}" for en, de in COLUMNS])
    there = load_corpus(name, folder=folder)
    back = load_corpus(name, folder=folder, source="de", target="en")
    assert {split: [(en, de) for de, en in pairs] for split, pairs in back.splits.items()} == there.splits


def test_law_the_toy_language_needs_no_folder(monkeypatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    splits = load_corpus("toy").splits
    assert len(splits["train"]) > 230 > 40 > len(splits["val"]) > 3 < len(splits["test"]) < 40
    assert not any(a & b for a, b in itertools.combinations(sentences(splits).values(), 2))


def test_law_only_the_training_split_is_filtered(tmp_path: Path):
    good, bad = b"One two.\n", b"1 2 3 4 5 6 7 8 9 10\n"
    for split, english in {"train": good + bad + good, "val": bad, "test": good * 3}.items():
        (tmp_path / f"{split}.en").write_bytes(english)
        (tmp_path / f"{split}.fr.gz").write_bytes(gzip.compress(b"Un deux.\n" * english.count(b"\n")))
    corpus = load_corpus("files", folder=tmp_path, source="fr", target="en")
    assert {split: len(pairs) for split, pairs in corpus.splits.items()} == {"train": 2, "val": 1, "test": 3}
    assert corpus.splits["test"][0] == ("Un deux.", "One two.")
    assert corpus.skipped == {"empty": 0, "mismatched": 1}


def test_law_a_parent_folder_of_corpora_can_be_given(tmp_path: Path, monkeypatch):
    folder = tatoeba(tmp_path / "tatoeba", [f"{en}\t{de}" for en, de in COLUMNS])
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    corpus = load_corpus("tatoeba")
    assert corpus == load_corpus("tatoeba", folder=folder) == load_corpus("tatoeba", folder=tmp_path)
    monkeypatch.setenv(DATA_VARIABLE, str(folder))
    assert load_corpus("tatoeba") == corpus  # the variable may also be the corpus itself
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "nowhere"))
    assert load_corpus("tatoeba", folder=folder) == corpus  # the argument takes precedence


def test_oracle_the_real_multi30k_keeps_its_published_splits(shared_data: Path):
    corpus = load_corpus("multi30k", folder=shared_data)
    sizes = {split: len(pairs) for split, pairs in corpus.splits.items()}
    tests = {f"test_{which}": 1000 for which in ("2016_flickr", "2017_flickr")}
    tests |= {"test_2017_mscoco": 461, "test_2018_flickr": 1071}
    assert sizes == {"train": 29_000 - 2, "val": 1014, **tests}
    assert corpus.skipped == {"empty": 0, "mismatched": 2}  # their German text is empty
    first = "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche."
    assert corpus.splits["train"][0] == ("Two young, White males are outside near many bushes.", first)


@pytest.fixture
def published(tmp_path: Path, monkeypatch) -> Path:
    """Write two files and register their digests as those of Multi30k."""
    write(tmp_path, en=b"One.\n", de=b"Eins.\n")
    sums = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in tmp_path.iterdir())
    source = dataclasses.replace(MULTI30K, sums="\n".join(sums))
    monkeypatch.setitem(CORPORA, "multi30k", dataclasses.replace(CORPORA["multi30k"], source=source))
    return tmp_path


@pytest.mark.message
@pytest.mark.parametrize(("name", "text"), [("train.de", "Zwei.\n"), ("train.en", "Eins.\n"), ("val.en", "")])
def test_message_a_modified_file_of_multi30k(published: Path, name: str, text: str):
    (published / "README").write_text("no sentences")
    assert load_corpus("multi30k", folder=published).splits == {"train": [("One.", "Eins.")]}
    (published / name).write_text(text)
    expected = (
        rf"{name} is not a file of the published corpus multi30k \(its SHA-256 is [0-9a-f]{{64}}\); "
        "download multi30k again, or choose the corpus files"
    )
    with pytest.raises(ValueError, match=expected):
        load_corpus("multi30k", folder=published, source="de", target="en")


@pytest.mark.message
def test_message_no_folder_is_given(monkeypatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    sentence = (
        "the folder of the corpus {} is unknown; give folder, or set ANNOTATED_TRANSFORMER_DATA to it{}$"
    )
    way_out = "; annotated-transformer download tatoeba downloads it"
    for name, more in (("tatoeba", way_out), ("files", "")):  # one's own files cannot be downloaded
        with pytest.raises(ValueError, match=sentence.format(name, more)):
            load_corpus(name)


@pytest.mark.message
@pytest.mark.parametrize(
    ("name", "languages", "message"),
    [
        ("wmt14", ("en", "de"), "no corpus 'wmt14'; choose from toy, multi30k, tatoeba, files"),
        ("toy", ("en", "fr"), "toy has en and de, not en and fr; give source='en', target='de', or the rev"),
        ("multi30k", ("de", "de"), "multi30k has en and de, not de and de; give source='en', target='de'"),
        ("tatoeba", ("en", "fr"), "tatoeba has en and de, not en and fr; give source='en', target='de', or"),
    ],
)
def test_message_a_corpus_or_a_language_that_does_not_exist(name: str, languages, message: str):
    with pytest.raises(ValueError, match=message):
        load_corpus(name, source=languages[0], target=languages[1])


@pytest.mark.message
@pytest.mark.parametrize(("line", "columns"), [("Go.", 1), ("a\tb\tc\td", 4)])
def test_message_a_wrong_number_of_columns(tmp_path: Path, line: str, columns: int):
    folder = tatoeba(tmp_path, ["Run!\tLauf!", line])
    with pytest.raises(ValueError, match=rf"deu\.txt, line 2 has {columns} columns; give English, German"):
        load_corpus("tatoeba", folder=folder)


@pytest.mark.message
@pytest.mark.parametrize("name", ["tatoeba", "files", "multi30k"])
def test_message_a_missing_corpus(tmp_path: Path, name: str):
    (tmp_path / "_about.txt").touch()
    names = r"deu-eng\.zip nor deu\.txt" if name == "tatoeba" else r"train\.en nor train\.en\.gz"
    with pytest.raises(FileNotFoundError, match=rf"neither {names}; it contains _about\.txt"):
        load_corpus(name, folder=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no folder .*none; give the one that contains"):
        load_corpus(name, folder=tmp_path / "none")


def own_files(folder: Path, number: int = 499) -> Path:
    """Write `train.en` and `train.fr` with `number` distinct sentences; every third pair occurs twice."""
    lines = [f"Sentence {i}." for i in range(number) for _ in range(1 + (i % 3 == 0))]
    for language, word in (("en", "Sentence"), ("fr", "Phrase")):
        text = "".join(f"{line}\n" for line in lines).replace("Sentence", word)
        (folder / f"train.{language}").write_text(text, encoding="utf-8")
    return folder


def test_law_own_files_without_val_and_test_are_split_by_sentence(tmp_path: Path):
    corpus = load_corpus("files", folder=own_files(tmp_path), target="fr")
    assert all_pairs(corpus) == sorted(read_pairs(tmp_path, "train", target="fr"))
    heard = sentences(corpus.splits)
    assert list(heard) == ["train", "val", "test"]
    assert not any(a & b for a, b in itertools.combinations(heard.values(), 2))
    for split in ("val", "test"):
        assert len(corpus.splits[split]) / len(all_pairs(corpus)) == pytest.approx(0.05, abs=0.02)
    first, few, third, _ = corpus.summary().split("\n")
    assert first.startswith(f"files: train {len(corpus.splits['train'])}, val ")
    assert few.startswith(f"There are only {len(corpus.splits['train'])} pairs to train on. ")
    assert third == corpus.note
    assert third.startswith("There are only train files, so val and test were split off")


def test_law_val_and_test_have_a_limited_number_of_pairs(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(module, "OWN_PAIRS", 7)
    splits = load_corpus("files", folder=own_files(tmp_path), target="fr").splits
    assert 0 < len(splits["val"]) < 17 > len(splits["test"]) > 0  # 5% would be about 33


def test_law_too_few_sentences_stay_in_train(tmp_path: Path):
    corpus = load_corpus("files", folder=own_files(tmp_path, 2), target="fr")
    assert corpus.splits == {"train": read_pairs(tmp_path, "train", target="fr")}
    assert "\nThere are only train files, with too few different sentences to split off" in corpus.summary()


@pytest.mark.parametrize(
    ("names", "note"),
    [
        ("test", "There is no validation loss, because no split is called val or valid or validation or de"),
        ("dev", "The validation loss is that of dev."),
        ("valid test dev", "The validation loss is that of valid."),
        ("val", ""),
    ],
)
def test_law_splits_provided_by_the_user_are_not_changed(tmp_path: Path, names: str, note: str):
    own_files(tmp_path)
    for name, language in itertools.product(names.split(), ("en", "fr")):
        (tmp_path / f"{name}.{language}").write_text("Bonjour.\n", encoding="utf-8")
    corpus = load_corpus("files", folder=tmp_path, target="fr")
    every = {split: read_pairs(tmp_path, split, target="fr") for split in ("train", *names.split())}
    assert (corpus.splits, corpus.note[: len(note) or None]) == (every, note)
    assert len(corpus.summary().split("\n")) == (4 if note else 3)
    assert corpus.validation == (names.split()[0] if names != "test" else None)


def test_law_hidden_files_are_not_splits(tmp_path: Path):
    plain = load_corpus("files", folder=own_files(tmp_path), target="fr")
    for name in "._train.en .train.en.gz ._val.fr ~$train.fr train.en~ .DS_Store Thumbs.db".split():
        (tmp_path / name).write_bytes(b"\0\x05\x16\x07\0\x02\0\0Mac OS X")  # as macOS writes them
    assert load_corpus("files", folder=tmp_path, target="fr") == plain
    assert split_names(tmp_path, "en", "fr") == ["train"]


@pytest.mark.parametrize(("pairs", "warned"), [(1, True), (999, True), (1000, False)])
def test_law_the_summary_warns_of_few_pairs_to_train_on(pairs: int, warned: bool):
    corpus = Corpus(name="files", splits={"train": [("a", "b")] * pairs}, skipped={}, terms="")
    sentence = f"There are only {pairs} pairs to train on. A model can memorize these .*; give more, or start"
    assert (re.search(sentence, corpus.summary()) is not None) == warned


def test_law_only_the_files_of_both_languages_count_as_splits(tmp_path: Path):
    assert split_names(own_files(tmp_path), "en", "fr") == ["train"]
    (tmp_path / "test.de").touch()
    assert split_names(tmp_path, "en", "fr") == ["train"]
    assert split_names(tmp_path, "en", "de") == ["train", "test"]
    (tmp_path / "train.en").rename(tmp_path / "train.en.gz")
    assert split_names(tmp_path, "en", "fr") == ["train"]
    (tmp_path / "val.fr.gz").touch()
    assert split_names(tmp_path, "en", "fr") == ["train", "val"]


NOT_REGULAR = r"val\.en is not a regular file; replace it by a text"


@pytest.mark.message
@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("val.en", Path.mkdir, NOT_REGULAR),
        ("val.en", os.mkfifo, NOT_REGULAR),
        ("val.en", lambda path: path.symlink_to("nowhere"), NOT_REGULAR),
        (
            "val.de",
            Path.touch,
            r"has neither val\.en nor val\.en\.gz; it contains ",
        ),
        ("train.en.gz", Path.touch, r"has train\.en and train\.en\.gz, and only one can count; remove one"),
    ],
)
def test_message_a_bad_file_or_a_split_in_one_language_only_or_twice(tmp_path, name, make, message):
    write(tmp_path, en=b"One.\n", de=b"Eins.\n")
    make(tmp_path / name)
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        load_corpus("files", folder=tmp_path)
