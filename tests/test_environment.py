"""Requirements in pyproject.toml, constraints.txt, and environment.yml agree; workflows call targets."""

import re
import runpy
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from annotated_transformer.model.masks import causal_mask

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OLDEST = runpy.run_path(str(ROOT / "tests" / "oldest.py"))["oldest"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]


def pins(lines: list[str]) -> dict[str, str]:
    found = (re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[\w+\])?==(\S+)", line.strip()) for line in lines)
    return {canonicalize_name(match[1]): match[2] for match in found if match}


def requirements(*extras: str) -> dict[str, Requirement]:
    """Return the direct requirements in pyproject.toml: the core and the named extras."""
    optional = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in optional[extra])]
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


CONSTRAINTS = pins((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
PIP_SECTION = next(item["pip"] for item in CONDA if isinstance(item, dict))


def test_law_every_line_of_constraints_pins_one_plain_version():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    written = [line for line in lines if line and not line.startswith("#")]
    assert len(written) == len(CONSTRAINTS)
    assert not [line for line in written if "+" in line], "a local suffix fits one build only"


def test_law_every_direct_requirement_is_pinned_within_its_range():
    direct = requirements("book", "test", "bench", "interop", "ja", "ko")
    assert set(direct) <= set(CONSTRAINTS)
    outside = {n: CONSTRAINTS[n] for n, r in direct.items() if not r.specifier.contains(CONSTRAINTS[n])}
    assert outside == {}


def test_law_what_bleu_in_japanese_and_korean_needs_is_pinned():
    """These extras are those of sacreBLEU; `make environment` does not install them."""
    for extra in ("ja", "ko"):
        assert requirements(extra)["sacrebleu"].extras == {extra}
        brought = [
            r for r in map(Requirement, requires("sacrebleu")) if f'extra == "{extra}"' in str(r.marker)
        ]
        assert len(brought) == 2  # MeCab and a dictionary
        for needed in brought:
            assert needed.specifier.contains(CONSTRAINTS[canonicalize_name(needed.name)])


def test_law_notebooks_elsewhere_need_the_same_versions_and_no_kernel():
    slim, book = requirements("notebooks"), requirements("book")
    assert {name: slim[name] for name in slim if name in book} == {
        name: book[name] for name in slim if name in book
    }
    assert set(slim) - set(book) == {"ipython"}  # which the kernel of the book brings


def test_law_drawing_needs_matplotlib_alone_in_the_version_of_the_book():
    assert requirements("plot").items() - requirements().items() == {
        ("matplotlib", requirements("book")["matplotlib"])
    }


def test_law_conda_gets_the_same_requirements_at_the_same_versions():
    direct = requirements("book", "test")
    assert pins(PIP_SECTION) == {name: CONSTRAINTS[name] for name in direct}


def test_law_conda_adds_only_python_pip_make_and_the_package():
    rest = [line for line in PIP_SECTION if not pins([line])]
    assert rest == ["-c constraints.txt", "-e ."]
    names = {re.split("[=<>]", item)[0] for item in CONDA if isinstance(item, str)}
    assert names == {"python", "pip", "make"}
    python = next(item for item in CONDA if isinstance(item, str) and item.startswith("python="))
    assert SpecifierSet(PROJECT["requires-python"]).contains(python.removeprefix("python="))


def test_law_the_readme_says_what_each_requirement_of_the_package_is_for():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("The package requires:")[2].strip().partition("\n\n")[0].splitlines()[2:]
    names = [name for line in table for name in line.split("|")[1].lower().split(",")]
    found = [canonicalize_name(name.strip()).replace("pytorch", "torch") for name in names]
    assert sorted(found) == sorted(requirements())


def test_law_the_environment_holds_the_pinned_versions():
    found = {}
    for name in CONSTRAINTS:
        try:
            found[name] = Version(version(name)).public
        except PackageNotFoundError:
            continue  # for an extra that is not installed, or for another platform
    assert set(requirements("book", "test")) <= set(found)
    assert found == {name: CONSTRAINTS[name] for name in found}


def test_law_shapes_are_checked_only_when_requested(request: pytest.FixtureRequest):
    asked = request.config.getoption("jaxtyping_packages", None)
    assert hasattr(causal_mask, "__wrapped__") is bool(asked)


def test_law_the_oldest_version_is_the_lower_bound():
    extras = {"book": ["b>=2,<3"], "test": ["t==1.5", "x-y[z]>=3"]}
    project = {"dependencies": ["numpy>=2", "a-b.c>=0.1.1"], "optional-dependencies": extras}
    assert OLDEST(project) == ["numpy==2", "a-b.c==0.1.1", "b==2", "t==1.5", "x-y==3"]
    assert set(pins(OLDEST(PROJECT))) == set(requirements("book", "test"))


@pytest.mark.message
@pytest.mark.parametrize("line", ["numpy", "numpy<3", "numpy>=2; python_version < '3.12'"])
def test_message_a_requirement_without_an_oldest_version(line: str):
    with pytest.raises(ValueError, match=r"in pyproject.toml names no oldest version; give name>=version$"):
        OLDEST({"dependencies": [line], "optional-dependencies": {"book": [], "test": []}})


def test_law_a_pull_request_is_tested_by_make_ci_and_no_failure_is_ignored():
    workflows = (ROOT / ".github" / "workflows").glob("*")
    texts = {path.name: path.read_text(encoding="utf-8") for path in workflows}
    assert [name for name, text in texts.items() if "continue-on-error" in text] == []
    test = yaml.load(texts["test.yml"], yaml.BaseLoader)  # which reads the key `on` as text, not as true
    assert test["on"]["push"] == test["on"]["pull_request"] == ""  # any branch and any file
    assert "make ci" in [step.get("run") for step in test["jobs"]["test"]["steps"]]


def test_law_the_workflows_call_only_targets_of_the_makefile():
    workflows = [path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*")]
    commands = [command for text in workflows for command in re.findall(r"\brun: (.+)", text)]
    assert len(commands) >= len(workflows) > 0
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [c for c in commands if c.split()[0] != "make" or c.split()[1] not in targets] == []


def test_law_the_tests_have_every_library_that_interop_needs():
    assert requirements("interop").items() <= requirements("test").items()
