"""The models that come with this package, so that it translates without any data."""

from importlib.resources import files
from pathlib import Path

EN_DE = "en-de"
PLACE = Path(str(files("annotated_transformer"))) / "weights"


def pretrained_names() -> list[str]:
    """Return the names of the models, which are their directions."""
    return sorted(path.name for path in PLACE.glob("*") if path.is_dir())


def pretrained_folder(name: str) -> Path:
    """Return the folder of a model of this package; its `README.md` is the model's card.

    Raises:
        ValueError: If there is none of that name; says which there are.
    """
    there = pretrained_names()
    if name not in there:
        raise ValueError(
            f"this package has no model {name!r} (it has {', '.join(there) or 'none'}); "
            f"name one that it has, or give the folder of a model that you trained"
        )
    return PLACE / name
