"""Requirements in pyproject.toml, constraints.txt, and environment.yml agree."""

import re
import tomllib
from importlib.metadata import distributions, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from annotated_transformer.model.masks import causal_mask

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


PINS = re.findall(r"^([\w.-]+)(?:\[\w+\])?==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.M)
CONSTRAINTS = {canonicalize_name(name): pinned for name, pinned in PINS}


def requirements(*extras: str) -> dict[str, Requirement]:
    """Return the direct requirements in pyproject.toml: the core and the named extras."""
    optional = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in optional[extra])]
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def test_law_every_direct_requirement_is_pinned_within_its_range():
    direct = requirements("book", "test", "bench", "interop", "ja", "ko")
    assert set(direct) <= set(CONSTRAINTS)
    outside = {n: CONSTRAINTS[n] for n, r in direct.items() if not r.specifier.contains(CONSTRAINTS[n])}
    assert outside == {}


def test_law_what_bleu_in_japanese_and_korean_needs_is_pinned():
    """These extras are those of sacreBLEU; `make environment` does not install them."""
    for extra in ("ja", "ko"):
        brought = [
            r for r in map(Requirement, requires("sacrebleu")) if f'extra == "{extra}"' in str(r.marker)
        ]
        assert len(brought) == 2  # MeCab and a dictionary
        for needed in brought:
            assert needed.specifier.contains(CONSTRAINTS[canonicalize_name(needed.name)])


def test_law_an_extra_asks_for_the_same_versions_as_the_book_and_the_tests():
    slim, known = requirements("plot", "notebooks", "interop"), requirements("book", "test")
    assert {name: slim[name] for name in slim if slim[name] != known.get(name)}.keys() == {"ipython"}


def test_law_conda_gets_the_same_requirements_at_the_same_versions():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert {"pip": ["-c constraints.txt", "-e .[book,test]"]} in conda


def test_law_the_environment_holds_the_pinned_versions():
    installed = {
        canonicalize_name(each.name): Version(each.version).public
        for each in distributions()
        if canonicalize_name(each.name) in CONSTRAINTS
    }  # the others are for an extra that is not installed, or for another platform
    assert set(requirements("book", "test")) <= set(installed)
    assert installed == {name: CONSTRAINTS[name] for name in installed}


def test_law_shapes_are_checked_only_when_requested(request: pytest.FixtureRequest):
    requested = request.config.getoption("jaxtyping_packages", None)
    assert hasattr(causal_mask, "__wrapped__") is bool(requested)
