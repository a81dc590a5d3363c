"""A saved or packaged model is restored exactly, or the error names the faulty file and the reason."""

import contextlib
import math
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from annotated_transformer.checkpointing import checkpoint, files
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from annotated_transformer.decoding.translator import Translator
from tests.checkpointing.small_models import FILES, make_model, make_tokenizer, same


def edit(path: Path, change: Callable[[bytes], bytes]) -> None:
    data = path.read_bytes()
    path.write_bytes(change(data))
    assert path.read_bytes() != data


def replacing(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old, new)


OTHERS = {"final_norm": True, "activation": "swish", "attention_bias": True, "output_bias": True}


@pytest.mark.parametrize(
    ("dtype", "changes"),
    [
        (torch.float64, {}),
        (torch.bfloat16, {"positions": "learned"}),
        (torch.float32, OTHERS),
        (torch.float32, {"tied_output": False}),
    ],
)
def test_law_loading_restores_the_saved_model_and_tokenizer(tmp_path, dtype, changes):
    model = make_model(**changes).to(dtype)
    with torch.no_grad():
        model.embedding.weight *= 1 + 1e-9  # in float64, values that float32 cannot represent
    checkpoint.save(tmp_path, model, make_tokenizer())
    before = torch.get_rng_state()
    loaded, tokenizer = checkpoint.load(tmp_path)
    assert torch.equal(torch.get_rng_state(), before)
    assert same(loaded, model)
    assert not same(make_model(seed=1, **changes).to(dtype), model)  # otherwise any model passes
    assert {parameter.dtype for parameter in loaded.parameters()} == {dtype}
    assert not loaded.training
    assert all(parameter.requires_grad for parameter in loaded.parameters())
    assert tokenizer.to_json() == make_tokenizer().to_json()
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    src, tgt = torch.tensor([[5, 7, 11, 2, 0], [3, 2, 0, 0, 0]]), torch.tensor([[1, 13, 17], [1, 19, 0]])
    torch.testing.assert_close(loaded(src, tgt), model.eval()(src, tgt))  # including buffers and dtypes


def test_law_the_languages_of_a_model_are_stored_with_it(folder: Path, tmp_path: Path, monkeypatch):
    assert checkpoint.read_languages(folder) is None  # saved without languages, as by early versions
    checkpoint.save(tmp_path / "en-fr", make_model(), make_tokenizer(), languages=("pt-BR", "zh"))
    assert checkpoint.read_languages(tmp_path / "en-fr") == ("pt-BR", "zh")
    assert checkpoint.read_languages(tmp_path / "en-fr").source == "pt-BR"
    edit(tmp_path / "en-fr" / "model.safetensors", replacing(b'"source"', b'"origin"'))
    assert checkpoint.read_languages(tmp_path / "en-fr") is None
    monkeypatch.setattr(checkpoint, "PRETRAINED", tmp_path)  # models of the package are named after theirs
    assert checkpoint.read_languages(tmp_path / "en-fr") == ("en", "fr")


def test_law_a_model_is_saved_as_the_same_bytes_in_every_folder(tmp_path: Path):
    saved = set()
    for i in range(9):
        checkpoint.save(tmp_path / str(i), make_model(), make_tokenizer())
        saved.add(tuple((tmp_path / str(i) / name).read_bytes() for name in FILES))
    assert len(saved) == 1


def test_law_half_precision_halves_the_file_with_a_rounding_error_of_1_part_in_2048(tmp_path: Path):
    model = make_model(positions="learned")
    with torch.no_grad():
        model.embedding.weight[:, 0] *= 1e-6  # subnormal in float16
    for name, stored in {"whole": None, "half": torch.float16}.items():
        checkpoint.save(tmp_path / name, model, make_tokenizer(), stored=stored)
    whole, half = (tmp_path / name / "model.safetensors" for name in ("whole", "half"))
    numbers = sum(tensor.numel() for tensor in model.state_dict().values())
    assert whole.stat().st_size - half.stat().st_size == pytest.approx(2 * numbers, abs=64)
    loaded = checkpoint.load(tmp_path / "half")[0]
    assert {tensor.dtype for tensor in loaded.state_dict().values()} == {torch.float32}
    for name, tensor in model.state_dict().items():
        difference = (loaded.state_dict()[name] - tensor).abs()
        assert (difference <= torch.clamp(tensor.abs() / 2048, min=2**-25)).all()
    assert not same(loaded, model)


@pytest.mark.message
@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_message_a_kill_between_two_files_is_detected(folder: Path, monkeypatch, steps: int):
    newer, left, replace = make_model(seed=1, vocab_size=269), iter(range(steps)), os.replace

    def stop(source: Path, target: Path) -> None:
        next(left)  # or StopIteration, which ends the save
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", stop)
    with contextlib.suppress(StopIteration):
        checkpoint.save(folder, newer, make_tokenizer(269))
    if steps in (0, 3):
        assert same(checkpoint.load(folder)[0], newer if steps else make_model())
        return
    with pytest.raises(ValueError, match=r"config\.json is not the one that model\.safetensors was saved w"):
        checkpoint.load(folder)


DAMAGED = r"model\.safetensors is damaged \(.+\); save or copy the model again"
MIXED = (
    r"{}\.json is not the one that model\.safetensors was saved with: it was changed, or a save was cut "
    r"short; take all of config\.json, .* \(to change attention, dropout or max_length of a model, see help\("
)
VERSION = "has format_version=2, and this package reads 1; give a folder that"
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"

DAMAGES = {
    "cut": (WEIGHTS, lambda data: data[: len(data) // 2], DAMAGED),
    "a bit of a weight": (WEIGHTS, lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], DAMAGED),
    "no digest": (WEIGHTS, replacing(b'"model.safetensors"', b'"model.safetensorS"'), DAMAGED),
    "no digest of the config": (
        WEIGHTS,
        replacing(b'"config.json"', b'"config.jsoN"'),
        MIXED.format("config"),
    ),
    "another format": (WEIGHTS, replacing(b'_version":"1"', b'_version":"2"'), VERSION),
    "a cut config": (CONFIG, lambda data: data[:9], MIXED.format("config")),
    "a changed config": (CONFIG, replacing(b'heads": 3', b'heads": 5'), MIXED.format("config")),
    "tokenizer": (TOKENIZER, lambda _: make_tokenizer(269).to_json().encode(), MIXED.format("tokenizer")),
}


@pytest.mark.message
@pytest.mark.parametrize(("name", "damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_message_a_damaged_or_mixed_model(folder: Path, name: str, damage, message: str):
    checkpoint.load(folder)
    edit(folder / name, damage)
    with pytest.raises(ValueError, match=message):
        checkpoint.load(folder)


@pytest.mark.message
def test_message_a_missing_folder_or_file(folder: Path):
    nowhere = "there is no model folder .*nowhere; train a model into it, or give another$"
    with pytest.raises(FileNotFoundError, match=nowhere):
        checkpoint.load(folder / "nowhere")
    (folder / "tokenizer.json").unlink()
    (folder / "config.json").unlink()
    missing = r"has no config\.json and no tokenizer\.json; a model folder holds .*, and this one holds model"
    with pytest.raises(FileNotFoundError, match=missing):
        checkpoint.load(folder)


@pytest.mark.message
def test_message_a_weight_too_large_for_half_precision(tmp_path: Path):
    model = make_model()
    with torch.no_grad():
        weight = model.decoder.layers[0].feed_forward.expand.weight
        weight[3, 5] = -65_521.0
        weight[4, 7:9] = torch.tensor([math.inf, math.nan])
    expected = r"expand\.weight holds 65521, more than torch\.float16 .*; store the model in torch\.float32"
    with pytest.raises(ValueError, match=expected):
        checkpoint.save(tmp_path, model, make_tokenizer(), stored=torch.float16)
    assert list(tmp_path.iterdir()) == []
    checkpoint.save(tmp_path, model, make_tokenizer(), stored=torch.bfloat16)  # which has a larger range


@pytest.mark.message
def test_message_a_file_in_place_of_the_folder(tmp_path: Path):
    (tmp_path / "model").write_text("mine")
    with pytest.raises(OSError, match=r"cannot save to \S*model \((File exists|Not a directory)\); what was"):
        checkpoint.save(tmp_path / "model", make_model(), make_tokenizer())
    assert (tmp_path / "model").read_text() == "mine"


OTHER = r"the model has vocab_size, .* = \(263, 0, 1, 2\) and the tokenizer \(269, 0, 1, 2\); build the"
TWICE = "source and target are both 'en', so there is nothing to translate"
NO_TYPE = r"weights cannot be stored in torch\.int8; choose from torch\.float16, torch\.bfloat16, "


@pytest.mark.message
@pytest.mark.parametrize(
    ("vocab_size", "options", "message"),
    [(269, {}, OTHER), (263, {"languages": ("en", "en")}, TWICE), (263, {"stored": torch.int8}, NO_TYPE)],
    ids=["another tokenizer", "one language twice", "a type that cannot hold weights"],
)
def test_message_what_cannot_be_saved(tmp_path: Path, vocab_size: int, options: dict, message: str):
    with pytest.raises(ValueError, match=message):
        checkpoint.save(tmp_path / "m", make_model(), make_tokenizer(vocab_size), **options)
    assert not (tmp_path / "m").exists()


@pytest.mark.message
@pytest.mark.parametrize("name", ["en-fr", "", "..", "README.md"])
def test_message_an_unknown_model(tmp_path: Path, monkeypatch, name: str):
    monkeypatch.setattr(checkpoint, "PRETRAINED", tmp_path)
    for there in ("en-de", "de-en"):
        (tmp_path / there).mkdir()
        assert pretrained_folder(there) == tmp_path / there
    (tmp_path / "README.md").touch()
    expected = f"this package has no model {name!r} (it has de-en, en-de); choose one of these, or give"
    with pytest.raises(ValueError, match=re.escape(expected)):
        Translator.from_pretrained(name)
