"""The folder that `export` and `import` write, and the model card in it."""

from pathlib import Path

from annotated_transformer.checkpointing.files import write_together

CARD = "README.md"


def refuse_used_folder(folder: Path) -> None:
    """Refuse a folder that holds something, which would be replaced or mixed up with the model."""
    if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
        raise ValueError(f"--out {folder} is not a folder; give another")
    if folder.is_dir() and (names := sorted(path.name for path in folder.iterdir())):
        raise ValueError(f"--out {folder} already holds {names[0]}; give a new or an empty folder")


def copy_model_card(source: Path, folder: Path, command: str) -> None:
    """Copy the model card, which has attribution and license, and add which command changed the format."""
    if (source / CARD).is_file():
        card = (source / CARD).read_bytes().rstrip()
        note = f"\n\nThis copy was converted to another format by {command}.\n"
        write_together(folder, {CARD: card + note.encode()})
