"""The GitHub workflows: their triggers, their platforms, and that they run only make targets."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".github" / "workflows"
# BaseLoader: in YAML 1.1, `on` is a boolean and 3.10 a number.
WORKFLOWS = {path.name: yaml.load(path.read_text("utf-8"), yaml.BaseLoader) for path in FOLDER.glob("*")}
JOBS = {f"{file}: {name}": job for file, flow in WORKFLOWS.items() for name, job in flow["jobs"].items()}
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EVENTS = {
    "test.yml": {"push", "pull_request", "schedule", "workflow_dispatch"},
    "weekly.yml": {"schedule", "workflow_dispatch"},
}
COMMANDS = {
    "test.yml: test": "make test",
    "test.yml: oldest": "make oldest",
    "weekly.yml: newest": "make newest",
    "weekly.yml: links": "make links",
    "weekly.yml: downloads": "make downloads",
}


def pythons(job: dict) -> list[str]:
    """Return the Python versions that a job tests."""
    (setup,) = (s["with"] for s in job["steps"] if s.get("uses", "").startswith("actions/setup-python@"))
    version = setup["python-version"]
    return job["strategy"]["matrix"]["python"] if version == "${{ matrix.python }}" else [version]


def test_law_each_workflow_starts_when_it_should():
    assert {name: set(flow["on"]) for name, flow in WORKFLOWS.items()} == EVENTS
    for flow in WORKFLOWS.values():
        (schedule,) = flow["on"]["schedule"]
        assert re.fullmatch(r"\d+ \d+ \* \* [0-6]", schedule["cron"]), "once a week"


def test_law_each_job_is_one_make_target():
    runs = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in JOBS.items()}
    assert runs == {name: [command] for name, command in COMMANDS.items()}
    targets = set(re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.MULTILINE))
    assert {command.removeprefix("make ") for command in COMMANDS.values()} <= targets


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_law_a_job_has_its_setup_steps_a_timeout_and_cannot_hide_a_failure(job: dict):
    assert set(job) <= {"runs-on", "timeout-minutes", "strategy", "steps"}  # no `if`, no `continue-on-error`
    assert job["runs-on"] == "ubuntu-latest"
    assert 0 < int(job["timeout-minutes"]) <= 60
    assert job.get("strategy", {"fail-fast": "false"})["fail-fast"] == "false"
    assert [set(step) for step in job["steps"]] == [{"uses"}, {"uses", "with"}, {"run"}]
    checkout, setup, _ = job["steps"]
    assert re.fullmatch(r"actions/checkout@v\d+", checkout["uses"])
    assert re.fullmatch(r"actions/setup-python@v\d+", setup["uses"])
    cached = setup["with"].get("cache-dependency-path", "constraints.txt")
    assert (ROOT / cached).is_file()


@pytest.mark.parametrize("flow", WORKFLOWS.values(), ids=WORKFLOWS)
def test_law_a_workflow_has_read_only_permissions_and_the_skips_of_make_test(flow: dict):
    assert flow["permissions"] == {"contents": "read"}
    assert flow["env"] == {"PIP_ARGS": "${{ vars.PIP_ARGS }}"}


def test_law_the_tests_run_on_the_oldest_and_on_a_newer_python():
    allowed, tested = SpecifierSet(PROJECT["requires-python"]), pythons(JOBS["test.yml: test"])
    assert tested == ["3.11", "3.13"]
    assert all(allowed.contains(version) for version in tested)
    assert not allowed.contains("3.10"), "then the oldest Python is another one"
    assert pythons(JOBS["test.yml: oldest"]) == ["3.11"]
    assert pythons(JOBS["weekly.yml: newest"]) == ["3.13", "3.x"]


def test_law_the_readme_lists_the_versions_that_the_workflows_test():
    rows = re.findall(
        r"^\| GitHub's `([\w-]+)` \| ([\d., x]+) \|", (ROOT / "README.md").read_text("utf-8"), re.M
    )
    jobs = (JOBS[name] for name in ("test.yml: test", "test.yml: oldest", "weekly.yml: newest"))
    assert rows == [(job["runs-on"], ", ".join(pythons(job))) for job in jobs]


# The pins that `make oldest` installs.

OLDEST = runpy.run_path(str(ROOT / "tests" / "oldest.py"))["oldest"]


def project(*lines: str) -> dict:
    """Return a project with these core requirements."""
    return {"dependencies": list(lines), "optional-dependencies": {"book": ["b>=2,<3"], "test": ["t==1.5"]}}


def test_law_the_oldest_version_is_the_lower_bound():
    assert OLDEST(project("numpy>=2", "a-b.c>=0.1.1")) == ["numpy==2", "a-b.c==0.1.1", "b==2", "t==1.5"]
    extras = PROJECT["optional-dependencies"]
    direct = [*PROJECT["dependencies"], *extras["book"], *extras["test"]]
    assert [pin.partition("==")[0] for pin in OLDEST(PROJECT)] == [re.match(r"[\w.-]+", d)[0] for d in direct]


@pytest.mark.message
@pytest.mark.parametrize("line", ["numpy", "numpy<3", "numpy>=2; python_version < '3.12'"])
def test_message_a_requirement_without_an_oldest_version(line: str):
    with pytest.raises(ValueError, match=r"in pyproject.toml names no oldest version; give name>=version$"):
        OLDEST(project(line))
