"""With the plugin of `make oldest`, a warning of one foreign package about another fails no test."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLD = "import warnings\ndef call(): warnings.warn('call is old', DeprecationWarning, stacklevel=2)\n"
THEIRS = "import old\ndef call(): old.call()\n"
TESTS = "import old, theirs\ndef test_ours(): old.call()\ndef test_theirs(): theirs.call()\n"


def test_law_only_a_warning_about_our_code_fails_a_test(tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\npythonpath = .\n")
    for name, text in (("old", OLD), ("theirs", THEIRS), ("test_one", TESTS)):
        (tmp_path / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.foreign_warnings", f"--rootdir={tmp_path}"]
    environment = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert re.findall(r"^FAILED test_one.py::(\w+)", done.stdout, re.MULTILINE) == ["test_ours"], done.stdout
    assert "1 failed, 1 passed" in done.stdout
