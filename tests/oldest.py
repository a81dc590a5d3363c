"""Print the oldest versions that pyproject.toml allows, as constraints for pip: `numpy>=2` gives `numpy==2`.

`make oldest` installs them. It runs before there is an environment, so this uses only Python's own modules.
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
EXTRAS = ("book", "test")
REQUIREMENT = re.compile(r"([\w.-]+)(?:>=|==)([\w.]+)(?:,<[\w.]+)?")


def oldest(project: dict) -> list[str]:
    """Return a pin for each direct requirement of the package and of two of its extras.

    Raises:
        ValueError: A requirement has no lower bound, or a form that is not known here.
    """
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for extra in EXTRAS for line in extras[extra])]
    pins = []
    for line in lines:
        match = REQUIREMENT.fullmatch(line)
        if match is None:
            raise ValueError(f"{line!r} in pyproject.toml names no oldest version; give name>=version")
        pins.append(f"{match[1]}=={match[2]}")
    return pins


if __name__ == "__main__":
    print("\n".join(oldest(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"])))
