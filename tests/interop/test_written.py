"""Files that a library writes into a folder come back as bytes, and the folder goes."""

from pathlib import Path

from annotated_transformer.interop.written import written_by


def test_law_the_files_come_back_and_the_folder_goes():
    folders: list[Path] = []

    def write(folder: str) -> None:
        folders.append(Path(folder))
        Path(folder, "b.bin").write_bytes(b"\x00\xff")
        Path(folder, "a.json").write_text("{}")

    assert list(written_by(write).items()) == [("a.json", b"{}"), ("b.bin", b"\x00\xff")]
    assert not folders[0].exists()
