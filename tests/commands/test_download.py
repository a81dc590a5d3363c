"""The command `download` prints the terms first, and then downloads."""

from pathlib import Path

import pytest

from annotated_transformer.text.published_corpora import TATOEBA


@pytest.mark.message
def test_law_a_corpus_is_downloaded_after_its_terms_are_printed(tmp_path: Path, capsys, monkeypatch, run):
    asked: list[tuple[str, Path, str]] = []

    def download(name: str, folder: Path) -> Path:
        asked.append((name, folder, capsys.readouterr().out))
        if len(asked) == 1:
            raise ConnectionError("cannot download it; try again")
        return folder / name

    monkeypatch.setattr("annotated_transformer.text.download.download", download)
    command = ["download", "tatoeba", "--to", tmp_path]
    assert run(*command, status=2) == ("", "error: cannot download it; try again\n")
    last = f"tatoeba is in {tmp_path / 'tatoeba'}; give --corpus tatoeba --data {tmp_path}"
    assert run(*command) == (f"{last}\n", "")
    assert asked == [("tatoeba", tmp_path, f"{TATOEBA.terms}\n")] * 2
