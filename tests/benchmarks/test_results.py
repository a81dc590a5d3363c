"""The committed results reach the required speeds and are consistent with each other."""

import json
import statistics

import pytest

from benchmarks.record import RESULTS
from benchmarks.shipped_model import FURTHER


def record(name: str) -> dict:
    """Return the content of a result's file."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def result(name: str) -> dict:
    return record(name)["results"]


def speeds(of: str, *, wide: bool = False) -> list[str]:
    """Return the names of the results of a speed benchmark, one per processor; without any, a missing one.

    With `wide`, return only those of processors with AVX-512 instructions. On others, bfloat16 is emulated.
    """
    names = sorted(path.stem for path in RESULTS.glob(f"{of}_*.json"))
    names = [name for name in names if "card" not in record(name)["machine"]]
    if wide:
        names = [name for name in names if record(name)["machine"]["instructions"] == "AVX512"]
    return names or [f"{of}_none"]


def least_speedup(measured: str, ours: str, peers: str) -> float:
    """Return our training speed, as a multiple of that of the faster peer of this precision."""
    ratios = result(measured)["ratios"][ours]
    found = {peer: ratio for peer, ratio in ratios.items() if peer.endswith(f", {peers}")}
    assert [peer.split(",")[0] for peer in found] == ["torch.nn.Transformer", "HF MarianMTModel"]
    return min(found.values())


@pytest.mark.parametrize("measured", speeds("train"))
def test_law_training_in_float32_reaches_the_required_speedup(measured: str):
    assert least_speedup(measured, "ours, fast, float32", "float32") >= 1.5


@pytest.mark.parametrize("measured", speeds("train", wide=True))
@pytest.mark.parametrize(("peers", "least"), [("float32", 3.0), ("bfloat16", 1.5)])
def test_law_training_in_bfloat16_reaches_the_required_speedup(measured: str, peers: str, least: float):
    assert least_speedup(measured, "ours, fast, bfloat16", peers) >= least


@pytest.mark.parametrize("measured", speeds("train"))
def test_law_training_in_bfloat16_takes_at_most_900_mb(measured: str):
    assert result(measured)["found"]["ours, fast, bfloat16"]["peak_mb"] <= 900


@pytest.mark.parametrize("measured", speeds("decode", wide=True))
@pytest.mark.parametrize(("batch", "least"), [(1, 3.0), (64, 1.7)])  # 64: 1.7 to 1.9, by the load beside it
def test_law_decoding_reaches_the_required_speedup_over_marian(measured: str, batch: int, least: float):
    found = result(measured)[f"batch {batch}"]
    assert found["ratios"]["ours, FastKeyValueCache"]["HF MarianMTModel"] >= least
    assert "CTranslate2" in found["found"]  # for comparison, as the limit


def test_law_multi30k_has_three_seeds_with_a_median_of_at_most_an_hour():
    found = [result(f"multi30k_seed{seed}") for seed in range(3)]
    assert max(each["student"]["parameters"] for each in found) <= 2_700_000
    assert statistics.median(each["minutes"] for each in found) <= 60  # one seed had other programs beside it


@pytest.mark.parametrize("path", sorted(RESULTS.glob("weights_*.json")), ids=lambda path: path.stem)
def test_law_the_result_of_a_shipped_model_includes_that_of_its_training_run(path):
    assert result(path.stem)["training"] == record(path.stem.replace("weights", "shipped"))


@pytest.mark.parametrize("source", FURTHER)
def test_law_the_last_epoch_of_a_shipped_model_is_complete(source: str):
    found = result({"en": "shipped_en-de", "de": "shipped_de-en"}[source])
    steps = [epoch["step"] for epoch in found["epochs"]]
    assert steps[-1] == FURTHER[source].training.steps
    assert steps == [steps[0] * (epoch + 1) for epoch in range(len(steps))]
