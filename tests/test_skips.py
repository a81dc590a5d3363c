"""With REQUIRE_ALL, a skip is a failure: silence would hide that hundreds of tests no longer run."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.skips import MAY_LACK

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(("value", "refused"), [("1", True), ("but-corpora", True), ("but-browser", False)])
def test_law_a_skip_that_is_not_allowed_is_a_failure(tmp_path: Path, value: str, refused: bool):
    test = f"import pytest\ndef test_one(): pytest.skip({MAY_LACK['browser']!r})\n"
    (tmp_path / "test_sample.py").write_text(test, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "REQUIRE_ALL": value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        (process.returncode == 1)
        is (f"REQUIRE_ALL={value} does not allow this skip" in process.stdout)
        is refused
    )
