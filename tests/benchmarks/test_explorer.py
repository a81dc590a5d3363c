"""The explorer benchmark measures every case in a browser."""

from benchmarks import explorer
from benchmarks.explorer import PAGE, measure
from benchmarks.serving import serving
from builder.explorer import pack


def test_law_each_case_is_measured_for_each_sentence_of_each_round(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(explorer, "SENTENCES", ("It is cold.", "We can go."))
    pack.write(tmp_path)
    (tmp_path / "index.html").write_text(PAGE, encoding="utf-8")
    with serving(tmp_path) as address:
        page = browser.new_page()
        found = measure(page, address, rounds=1, slowdowns=(1,))
        page.close()
    assert list(found["ms"]) == ["greedy, 1 ×", "beam, 1 ×"]
    assert all(len(times) == 2 and min(times) > 0 for times in found["ms"].values())
    assert found["load_ms"] > 0
    assert found["megabytes"] > 7  # the weights alone
