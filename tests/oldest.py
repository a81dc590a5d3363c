"""Print the oldest versions that pyproject.toml allows, as constraints for pip: `numpy>=2` gives `numpy==2`.

`make oldest` installs them. This runs before the environment exists, so it uses only the standard library.
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
EXTRAS = ("book", "test")
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[\w+\])?(?:>=|==)([\w.]+)(?:,<[\w.]+)?")


def oldest(project: dict) -> list[str]:
    """Return a pin for each direct requirement of the package and of the two extras in EXTRAS."""
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for extra in EXTRAS for line in extras[extra])]
    pins = []
    for line in lines:
        match = REQUIREMENT.fullmatch(line)
        if match is None:
            raise SystemExit(f"{line!r} in pyproject.toml names no oldest version; give name>=version")
        pins.append(f"{match[1]}=={match[2]}")
    return pins


if __name__ == "__main__":
    print("\n".join(oldest(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"])))
