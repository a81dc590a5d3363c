"""What programs wrote into committed files names no folder of the machine on which they ran."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:home|root|Users|work|tmp|private)/\w+")


def test_law_no_notebook_and_no_result_holds_a_path_of_a_machine():
    results = (ROOT / "annotated_transformer" / "book" / "results").glob("*.json")
    files = [*ROOT.glob("chapters/*.ipynb"), *results]
    paths_of = {path.name: MACHINE_PATH.findall(path.read_text("utf-8")) for path in files}
    assert {name: paths for name, paths in paths_of.items() if paths} == {}
    assert MACHINE_PATH.search('"weights": "/home/me/book/weights"')
