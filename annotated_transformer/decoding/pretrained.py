"""The trained models that come with this package."""

from importlib.resources import files
from pathlib import Path

EN_DE = "en-de"
PLACE = Path(str(files("annotated_transformer"))) / "weights"


def pretrained_names() -> list[str]:
    """Return the names of the models, such as `"en-de"` for English to German."""
    return sorted(path.name for path in PLACE.glob("*") if path.is_dir())


def pretrained_folder(name: str) -> Path:
    """Return the folder of a model of this package; its `README.md` is the model card.

    Raises:
        ValueError: If there is no model of that name; the message lists the names.
    """
    names = pretrained_names()
    if name not in names:
        raise ValueError(
            f"this package has no model {name!r} (it has {', '.join(names) or 'none'}); "
            f"choose one of these, or give the folder of a model that you trained"
        )
    return PLACE / name
