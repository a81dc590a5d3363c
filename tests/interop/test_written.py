"""Files that a library writes into a folder come back as bytes, and the folder goes."""

from pathlib import Path

import pytest

from annotated_transformer.interop.written import written_by


def test_law_the_files_come_back_and_the_folder_goes():
    folders: list[Path] = []

    def write(folder: str) -> None:
        folders.append(Path(folder))
        Path(folder, "b.bin").write_bytes(b"\x00\xff")
        Path(folder, "a.json").write_text("{}")

    assert list(written_by(write).items()) == [("a.json", b"{}"), ("b.bin", b"\x00\xff")]
    assert not folders[0].exists()


def test_law_an_error_of_the_library_leaves_no_folder():
    folders: list[Path] = []

    def write(folder: str) -> None:
        folders.append(Path(folder))
        raise RuntimeError("a full disk")

    with pytest.raises(RuntimeError, match="a full disk"):
        written_by(write)
    assert not folders[0].exists()
