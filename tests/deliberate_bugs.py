"""The list of mutants, and the scripts that they make."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
MUTANTS = tomllib.loads((ROOT / "tests" / "mutation" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]


def wrong_scripts(folder: str) -> list[str]:
    """Return the texts of the scripts in this folder, each with one of its mutations applied."""
    found = []
    for mutant in MUTANTS:
        if folder in mutant["file"]:
            source = (ROOT / mutant["file"]).read_text(encoding="utf-8")
            found.append(source.replace(mutant["old"], mutant["new"]))
            assert found[-1] != source, mutant["name"]
    return found
