"""Every skip is listed with its reason, REQUIRE_ALL forbids skips, and stages leave out no test of theirs."""

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import fixtures
from tests.skips import MAY_LACK, refused

TESTS = Path(__file__).parent
QUARANTINES = (TESTS / "QUARANTINES.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z]+)` \| `(.+?)` \|", QUARANTINES, re.MULTILINE))
LISTED = set(ROWS.values())
CONFTEST = runpy.run_path(str(TESTS / "conftest.py"))
CONFIGURE, LEFT_OUT = CONFTEST["pytest_configure"], CONFTEST["pytest_ignore_collect"]
SKIPPING = {"pytest.skip", "pytest.mark.skip", "pytest.mark.skipif", "pytest.importorskip"}
FORBIDDEN = {"pytest.xfail", "pytest.mark.xfail", "unittest.skip"}


def skips(source: str) -> list[str]:
    """Return the reason for each skip in a test's source, or what is wrong with it."""
    found = []
    for node in ast.walk(ast.parse(source)):
        name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if name in FORBIDDEN:
            found.append(f"{name} is not allowed")
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in SKIPPING:
            continue
        values = [k.value for k in node.keywords if k.arg == "reason"]
        if ast.unparse(node.func) in {"pytest.skip", "pytest.mark.skip"}:
            values += node.args[:1]
        reasons = [v.value for v in values if isinstance(v, ast.Constant)]
        found.append(str(reasons[0]) if reasons else f"{ast.unparse(node)} has no plain reason")
    return found


def test_law_every_skip_is_listed_and_every_listed_reason_is_used():
    used = {reason for path in TESTS.rglob("*.py") for reason in skips(path.read_text(encoding="utf-8"))}
    assert used == LISTED
    assert MAY_LACK == ROWS


def test_law_a_skip_without_a_plain_reason_and_an_expected_failure_are_found():
    assert skips("pytest.skip(f'no {x}')") == ["pytest.skip(f'no {x}') has no plain reason"]
    assert skips("pytest.mark.xfail") == ["pytest.mark.xfail is not allowed"]


SKIPPED_TEST = "import pytest\ndef test_one(): pytest.skip('no moon')\ndef test_two(): pass\n"
SKIPPED_FILE = "import pytest\npytest.skip('no moon', allow_module_level=True)\n"


@pytest.mark.parametrize(
    ("source", "required"),
    [(SKIPPED_TEST, False), (SKIPPED_TEST, True), (SKIPPED_FILE, True)],
    ids=["allowed", "a test", "a file"],
)
def test_law_require_all_turns_a_skip_into_a_failure(tmp_path, source, required, monkeypatch, capsys):
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_sample.py").write_text(source, encoding="utf-8")
    for name in [name for name in os.environ if name.startswith(("REQUIRE_ALL", "PYTEST_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    if required:
        monkeypatch.setenv("REQUIRE_ALL", "1")
    monkeypatch.chdir(tmp_path)
    arguments = ["-q", "-rs", "--import-mode=importlib", "-p", "no:faulthandler", "-p", "no:cacheprovider"]
    for name in ("conftest", "test_sample"):  # from an earlier case
        monkeypatch.delitem(sys.modules, name, raising=False)
    status = pytest.main([*arguments, f"--rootdir={tmp_path}", str(tmp_path)])
    assert sys.modules["test_sample"].__file__ == str(tmp_path / "test_sample.py")
    out = capsys.readouterr().out
    assert "no moon" in out
    assert ("REQUIRE_ALL=1 does not allow this skip" in out) is required
    assert (status in {1, 2}) is required, out


@pytest.mark.parametrize(("dist", "imported"), [("no", [fixtures]), ("worksteal", [])])
def test_law_a_process_that_only_distributes_tests_imports_no_pytorch(dist: str, imported: list):
    found: list[object] = []
    manager = SimpleNamespace(register=found.append)
    config = SimpleNamespace(getoption=lambda *names: dist, pluginmanager=manager)
    CONFIGURE(config)
    assert found == imported
    program = "import sys, tests.conftest; print({'jaxtyping', 'torch'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], cwd=TESTS.parent, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ("", {*LISTED, "no moon"}),
        ("1", set()),
        ("but-corpora,notes", {MAY_LACK["corpora"], MAY_LACK["notes"]}),
    ],
)
def test_law_require_all_allows_what_it_names(value: str, allowed: set[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REQUIRE_ALL", value)
    skipped = {*LISTED, "no moon"}  # pytest puts "Skipped: " before a reason
    assert {reason for reason in skipped if not refused(f"Skipped: {reason}")} == allowed


@pytest.mark.parametrize(
    ("stage", "name", "text", "left_out"),
    [
        ("slow", "test_one.py", "@pytest.mark.message", True),
        ("slow", "test_one.py", "pytestmark = pytest.mark.slow", None),
        ("page and not slow", "test_one.py", "from tests.explorer_pages import pages", None),
        ("page and not slow", "test_one.py", "@pytest.mark.slow", True),
        ("not message and not page and not slow", "test_one.py", "", None),
        ("", "test_one.py", "", None),
        ("slow", "conftest.py", "", None),
        ("slow", "one.ipynb", "", None),
    ],
)
def test_law_a_stage_leaves_out_the_test_files_that_do_not_name_its_marker(
    tmp_path: Path, stage: str, name: str, text: str, left_out: bool | None
):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert LEFT_OUT(tmp_path / name, SimpleNamespace(getoption=lambda option: stage)) is left_out


@pytest.mark.message
@pytest.mark.parametrize("value", ["0", "but-", "but-corpora,note", "corpora"])
def test_message_an_unknown_value_of_require_all(value: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REQUIRE_ALL", value)
    names = "browser, cuda, corpora, notes"
    sentence = f"^REQUIRE_ALL={value} means nothing; give 1, or but- and names from {names}"
    with pytest.raises(pytest.UsageError, match=sentence):
        CONFIGURE(SimpleNamespace())
