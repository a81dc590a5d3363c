"""What the committed results must show: the speed asked for, and that they belong together."""

import json

import pytest

from benchmarks.record import RESULTS


def result(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]


@pytest.mark.parametrize(
    ("ours", "peers", "least"),
    [
        ("ours, fast, float32", "float32", 1.5),
        ("ours, fast, bfloat16", "float32", 3.0),
        ("ours, fast, bfloat16", "bfloat16", 1.5),
    ],
)
def test_law_training_is_so_many_times_as_fast_as_each_peer(ours: str, peers: str, least: float):
    ratios = result("train")["ratios"][ours]
    found = {peer: ratio for peer, ratio in ratios.items() if peer.endswith(f", {peers}")}
    assert [peer.split(",")[0] for peer in found] == ["torch.nn.Transformer", "HF MarianMTModel"]
    assert min(found.values()) >= least


def test_law_training_in_bfloat16_takes_at_most_900_mb():
    assert result("train")["found"]["ours, fast, bfloat16"]["peak_mb"] <= 900


@pytest.mark.parametrize(("batch", "least"), [(1, 3.0), (64, 1.8)])
def test_law_decoding_is_so_many_times_as_fast_as_marian(batch: int, least: float):
    found = result("decode")[f"batch {batch}"]
    assert found["ratios"]["ours, LeanCache"]["HF MarianMTModel"] >= least
    assert "CTranslate2" in found["found"]  # beside it, as the limit


def test_law_multi30k_is_trained_within_the_hour():
    paths = sorted(RESULTS.glob("multi30k_seed*.json"))
    assert paths
    for path in paths:
        found = result(path.stem)
        assert found["minutes"] <= 60
        assert found["student"]["parameters"] <= 2_700_000


@pytest.mark.parametrize("path", sorted(RESULTS.glob("weights_*.json")), ids=lambda path: path.stem)
def test_law_the_result_of_a_shipped_model_has_the_one_of_its_training(path):
    training = json.loads((RESULTS / path.name.replace("weights", "shipped")).read_text(encoding="utf-8"))
    assert result(path.stem)["training"] == training
