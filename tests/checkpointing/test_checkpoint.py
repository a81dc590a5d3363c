"""A saved model is restored exactly, or the error message names the faulty file and the reason."""

import json
import math
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from annotated_transformer.checkpointing import checkpoint, files
from tests.checkpointing.small_models import make_model, make_tokenizer, same

FILES = ["config.json", "model.safetensors", "tokenizer.json"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    checkpoint.save(tmp_path / "model", make_model(), make_tokenizer())
    return tmp_path / "model"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_law_loading_restores_the_saved_model_and_tokenizer(
    tmp_path: Path, dtype: torch.dtype, positions: str
):
    model = make_model(positions=positions).to(dtype)
    with torch.no_grad():
        model.embedding.weight *= 1 + 1e-9  # in float64, values that float32 cannot represent
    checkpoint.save(tmp_path, model, make_tokenizer())
    loaded, tokenizer = checkpoint.load(tmp_path)
    assert same(loaded, model)
    assert not same(make_model(seed=1, positions=positions).to(dtype), model)  # otherwise any model passes
    assert {parameter.dtype for parameter in loaded.parameters()} == {dtype}
    assert not loaded.training
    assert all(parameter.requires_grad for parameter in loaded.parameters())
    assert tokenizer.to_json() == make_tokenizer().to_json()
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES


def test_law_a_model_is_saved_as_the_same_bytes_in_every_folder(tmp_path: Path):
    for i in range(9):
        checkpoint.save(tmp_path / str(i), make_model(), make_tokenizer())
    for name in FILES:
        assert len({(tmp_path / str(i) / name).read_bytes() for i in range(9)}) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_law_a_loaded_model_computes_the_same_logits(tmp_path: Path, dtype: torch.dtype):
    model = make_model().to(dtype).eval()
    checkpoint.save(tmp_path, model, make_tokenizer())
    loaded, _ = checkpoint.load(tmp_path)
    src, tgt = torch.tensor([[5, 7, 11, 2, 0], [3, 2, 0, 0, 0]]), torch.tensor([[1, 13, 17], [1, 19, 0]])
    torch.testing.assert_close(loaded(src, tgt), model(src, tgt))  # including dtypes


def test_law_half_precision_halves_the_file_with_a_rounding_error_of_1_part_in_2048(tmp_path: Path):
    model = make_model(positions="learned")
    with torch.no_grad():
        model.embedding.weight[:, 0] *= 1e-6  # subnormal in float16
    for name, stored in {"whole": None, "half": torch.float16}.items():
        checkpoint.save(tmp_path / name, model, make_tokenizer(), stored=stored)
    whole, half = (tmp_path / name / "model.safetensors" for name in ("whole", "half"))
    numbers = sum(tensor.numel() for tensor in model.state_dict().values())
    assert whole.stat().st_size - half.stat().st_size == pytest.approx(2 * numbers, abs=64)
    loaded, expected = checkpoint.load(tmp_path / "half")[0].state_dict(), model.state_dict()
    assert {tensor.dtype for tensor in loaded.values()} == {torch.float32}
    for name, tensor in expected.items():
        assert ((loaded[name] - tensor).abs() <= torch.clamp(tensor.abs() / 2048, min=2**-25)).all()
    assert not same(checkpoint.load(tmp_path / "half")[0], model)
    checkpoint.save(tmp_path / "again", checkpoint.load(tmp_path / "half")[0], make_tokenizer())
    assert same(checkpoint.load(tmp_path / "again")[0], checkpoint.load(tmp_path / "half")[0])


def test_law_a_file_without_a_dtype_entry_loads_in_its_stored_dtype(folder: Path):
    path = folder / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        metadata = {name: text for name, text in file.metadata().items() if name != "dtype"}
    save_file(load_file(path), path, metadata)
    assert same(checkpoint.load(folder)[0], make_model())


def test_law_the_files_are_what_other_programs_expect(folder: Path):
    assert json.loads((folder / "config.json").read_text())["d_model"] == 12
    assert load_file(folder / "model.safetensors").keys() == make_model().state_dict().keys()
    assert json.loads((folder / "tokenizer.json").read_text())["model"]["type"] == "BPE"


def test_law_loading_draws_no_random_number(folder: Path):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    checkpoint.load(folder)
    assert torch.equal(torch.rand(3), expected)


def test_law_a_newer_model_replaces_an_older_one(folder: Path):
    newer = make_model(seed=1, vocab_size=269, d_ff=7)
    checkpoint.save(folder, newer, make_tokenizer(269))
    assert same(checkpoint.load(folder)[0], newer)


@pytest.mark.message
@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_message_a_kill_between_two_files_is_detected(
    folder: Path, monkeypatch: pytest.MonkeyPatch, steps: int
):
    class Killed(BaseException):
        pass

    replace, left = os.replace, steps

    def stop(source: Path, target: Path) -> None:
        nonlocal left
        if left == 0:
            raise Killed("between two files")
        left -= 1
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", stop)
    newer = make_model(seed=1, vocab_size=269)
    if steps == 3:
        checkpoint.save(folder, newer, make_tokenizer(269))
        assert same(checkpoint.load(folder)[0], newer)
        return
    with pytest.raises(Killed, match="between two files"):
        checkpoint.save(folder, newer, make_tokenizer(269))
    if steps == 0:
        assert same(checkpoint.load(folder)[0], make_model())
    else:
        with pytest.raises(
            ValueError, match=r"config\.json is not the one that model\.safetensors was saved with"
        ):
            checkpoint.load(folder)


@pytest.mark.message
def test_message_no_folder(tmp_path: Path):
    with pytest.raises(
        FileNotFoundError, match=r"there is no model folder .*nowhere; train a model into it, or give"
    ):
        checkpoint.load(tmp_path / "nowhere")


@pytest.mark.message
@pytest.mark.parametrize("name", FILES)
def test_message_a_missing_file(folder: Path, name: str):
    (folder / name).unlink()
    there = ", ".join(file for file in FILES if file != name)
    with pytest.raises(
        FileNotFoundError, match=rf"has no {name}; a model folder holds .* this one holds {there}$"
    ):
        checkpoint.load(folder)


def truncate(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    return data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]


def empty(data: bytes) -> bytes:
    return b""


def rename(data: bytes) -> bytes:
    """Damage the key under which the digest of the weights is stored."""
    return data.replace(b'"model.safetensors"', b'"model.safetensorz"')


@pytest.mark.message
@pytest.mark.parametrize("damage", [truncate, flip, empty, rename])
def test_message_damaged_weights(folder: Path, damage: Callable[[bytes], bytes]):
    path = folder / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(
        ValueError, match=r"model\.safetensors is damaged \(.+\); save or copy the model again"
    ):
        checkpoint.load(folder)


@pytest.mark.message
@pytest.mark.parametrize("damage", [truncate, empty, lambda data: b"\xff" + data])
def test_message_a_config_that_is_not_json(folder: Path, damage: Callable[[bytes], bytes]):
    path = folder / "config.json"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"config\.json is not JSON \(.+\); save or copy the model again"):
        checkpoint.load(folder)


@pytest.mark.message
def test_message_an_unknown_field(folder: Path):
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"d_ff"', '"d_fff"'))
    with pytest.raises(
        ValueError, match=r"config\.json has \['d_fff'\], unknown to this package; it knows vocab_size,"
    ):
        checkpoint.load(folder)
    path.write_text("[1]")
    with pytest.raises(
        ValueError, match=r"config\.json has \[1\], unknown to this package; it knows vocab_size"
    ):
        checkpoint.load(folder)


@pytest.mark.message
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_message_a_file_of_another_model(folder: Path, tmp_path: Path, name: str):
    other = tmp_path / "other"
    checkpoint.save(other, make_model(vocab_size=269), make_tokenizer(269))
    shutil.copy(other / name, folder / name)
    with pytest.raises(
        ValueError, match=rf"{name} is not the one that model\.safetensors was saved with: it was"
    ):
        checkpoint.load(folder)


@pytest.mark.message
@pytest.mark.parametrize("change", [('heads": 3', 'heads": 5'), ('dropout": 0.1', 'dropout": null')])
def test_message_a_config_that_was_changed(folder: Path, change: tuple[str, str]):
    path = folder / "config.json"
    before = path.read_text()
    path.write_text(before.replace(*change))
    assert path.read_text() != before
    with pytest.raises(ValueError, match=r"config\.json is not the one that model\.safetensors was saved"):
        checkpoint.load(folder)


@pytest.mark.message
def test_message_a_missing_digest(folder: Path):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes().replace(b'"config.json"', b'"config.jsom"'))
    with pytest.raises(ValueError, match=r"config\.json is not the one that model\.safetensors was saved"):
        checkpoint.load(folder)


@pytest.mark.message
@pytest.mark.parametrize("version", [None, "0", "2"])
def test_message_weights_of_another_format(folder: Path, version: str | None):
    path = folder / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    del metadata["format_version"]
    save_file(load_file(path), path, metadata | ({"format_version": version} if version else {}))
    expected = f"has format_version={version}, and this package reads 1; give a folder that"
    with pytest.raises(ValueError, match=expected):
        checkpoint.load(folder)


@pytest.mark.message
def test_message_an_unsupported_dtype(folder: Path):
    path = folder / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() | {"dtype": "torch.int8"}
    save_file(load_file(path), path, metadata)
    expected = r"is of a model of type torch\.int8, and this package knows torch\.float16, .*; save the model"
    with pytest.raises(ValueError, match=expected):
        checkpoint.load(folder)


@pytest.mark.message
@pytest.mark.parametrize("other", [0.0, math.inf, math.nan])
def test_message_a_weight_too_large_for_half_precision(tmp_path: Path, other: float):
    model = make_model()
    with torch.no_grad():
        model.decoder.layers[0].feed_forward.expand.weight[3, 5] = -65_521.0
        model.decoder.layers[0].feed_forward.expand.weight[4, 7] = other
    expected = (
        r"decoder\.layers\.0\.feed_forward\.expand\.weight holds 65521, more than torch\.float16 can "
        r"\(65504\); store the model in torch\.float32"
    )
    with pytest.raises(ValueError, match=expected):
        checkpoint.save(tmp_path, model, make_tokenizer(), stored=torch.float16)
    assert list(tmp_path.iterdir()) == []
    checkpoint.save(tmp_path, model, make_tokenizer(), stored=torch.bfloat16)  # which has a larger range


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_law_half_precision_preserves_values_that_are_not_finite(tmp_path: Path, value: float):
    model = make_model()
    with torch.no_grad():
        model.embedding.weight[3, 5] = value
    checkpoint.save(tmp_path, model, make_tokenizer(), stored=torch.float16)
    found = checkpoint.load(tmp_path)[0].embedding.weight[3, 5]
    torch.testing.assert_close(found, torch.tensor(value), equal_nan=True)


@pytest.mark.message
@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("d_ff", 7, "of shape (12, 14), and config.json makes it (12, 7)"),
        ("num_layers", 2, "of shape None, and config.json makes it (12,)"),
    ],
)
def test_message_shapes_that_do_not_match(tmp_path: Path, field: str, value: int, sentence: str):
    checkpoint.save(tmp_path, make_model(**{field: value}), make_tokenizer())
    path = tmp_path / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    tensors = make_model().state_dict()
    save_file(tensors, path, metadata | {"model.safetensors": files.digest_tensors(tensors)})
    expected = r"safetensors has decoder\.layers\.\S+ " + re.escape(
        f"{sentence}; give the two files of one model"
    )
    with pytest.raises(ValueError, match=expected):
        checkpoint.load(tmp_path)


@pytest.mark.message
def test_message_a_type_that_cannot_hold_weights(tmp_path: Path):
    expected = r"weights cannot be stored in torch\.int8; choose from torch\.float16, torch\.bfloat16, "
    with pytest.raises(ValueError, match=expected):
        checkpoint.save(tmp_path, make_model(), make_tokenizer(), stored=torch.int8)
    assert not list(tmp_path.iterdir())


@pytest.mark.message
def test_message_a_file_in_place_of_the_folder(tmp_path: Path):
    (tmp_path / "model").write_text("mine")
    with pytest.raises(OSError, match=r"cannot save to \S*model \((File exists|Not a directory)\); what was"):
        checkpoint.save(tmp_path / "model", make_model(), make_tokenizer())
    assert (tmp_path / "model").read_text() == "mine"


@pytest.mark.message
@pytest.mark.parametrize("name", [*FILES, *(f"{name}.tmp" for name in FILES)])
def test_message_something_other_than_a_file_in_the_folder(tmp_path: Path, name: str):
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match=f"{re.escape(name)} is not a regular file; move it away, or give"):
        checkpoint.save(tmp_path, make_model(), make_tokenizer())
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.message
def test_message_a_tokenizer_of_another_model(tmp_path: Path):
    expected = (
        r"the model has vocab_size, .* = \(263, 0, 1, 2\) and the tokenizer \(269, 0, 1, 2\); build the model"
    )
    with pytest.raises(ValueError, match=expected):
        checkpoint.save(tmp_path, make_model(), make_tokenizer(269))
    assert not list(tmp_path.iterdir())
