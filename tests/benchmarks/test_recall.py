"""What the benchmarks of chapter 1 train on and measure, and what they write."""

import json
from pathlib import Path

import pytest
import torch

from benchmarks import copying, recall


@pytest.fixture(autouse=True)
def default_dtype():
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


def test_law_only_the_first_word_of_a_text_is_a_name():
    words, names = recall.texts(50, torch.Generator().manual_seed(0))
    assert words.shape == (50, recall.WORDS)
    assert torch.equal(words[:, 0] - recall.NAMES, names)
    assert words[:, 1:].max() < recall.NAMES
    assert len(names.unique()) > 1


def test_law_recall_writes_each_run_and_open_gates_keep_the_gradient(tmp_path, monkeypatch):
    cases = (("LSTM", 0.01), ("LSTM, forget bias 3", 0.01))
    for name, value in {"RESULTS": tmp_path, "SEEDS": (0,), "MEASURED": (1, 3), "CASES": cases}.items():
        monkeypatch.setattr(recall, name, value)
    recall.main()
    runs = json.loads((tmp_path / "recall_20-words.json").read_text("utf-8"))["results"]["runs"]
    assert [run["network"] for run in runs] == [name for name, _ in cases]
    assert all(list(run["accuracy"]) == ["1", "3"] for run in runs)
    closed, open_gates = (run["gradient_at_start"] for run in runs)
    assert closed < 1e-3 < 0.1 < open_gates


def test_law_copying_writes_the_share_of_each_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cases = ((copying.AverageCopier, 4, 2, (1, 40)),)
    for name, value in {"RESULTS": tmp_path, "SEEDS": (0, 1), "CASES": cases}.items():
        monkeypatch.setattr(copying, name, value)
    copying.main()
    (case,) = json.loads((tmp_path / "copying_vocab-8.json").read_text("utf-8"))["results"]["cases"]
    assert (case["model"], case["size"], case["words"]) == ("AverageCopier", 4, 2)
    assert max(case["shares"]["1"]) < 0.6 < 0.9 < min(case["shares"]["40"])
