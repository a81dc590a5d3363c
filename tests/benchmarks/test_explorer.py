"""The explorer benchmark measures every case in a browser and fills one table row per case."""

import json
from pathlib import Path

from annotated_transformer.book.explorer import pack
from benchmarks.explorer import PAGE, SENTENCES, SLOWDOWNS, measure
from benchmarks.record import RESULTS
from benchmarks.serving import serving
from benchmarks.tables import explorer_table


def test_law_each_case_is_measured_for_each_sentence_of_each_round(browser, tmp_path: Path):
    pack.write(tmp_path)
    (tmp_path / "index.html").write_text(PAGE, encoding="utf-8")
    with serving(tmp_path) as address:
        page = browser.new_page()
        found = measure(page, address, rounds=1, slowdowns=(1,))
        page.close()
    assert list(found["ms"]) == ["greedy, 1 ×", "beam, 1 ×"]
    assert all(len(times) == len(SENTENCES) and min(times) > 0 for times in found["ms"].values())
    assert found["load_ms"] > 0
    assert found["megabytes"] > 7  # the weights alone


def test_law_the_table_has_a_row_for_each_case():
    for path in RESULTS.glob("explorer_*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        record["results"]["ms"]["greedy, 4 ×"] = [1200.4, 1300.0, 99.6]
        table = explorer_table([record])
        assert "| greedy, 4 × | 1,200 | 100 to 1,300 |" in table
        assert table.count(" × |") == 2 * len(SLOWDOWNS)
        assert record["results"]["browser"] in table


def test_law_a_result_is_committed():
    assert list(RESULTS.glob("explorer_*.json"))
