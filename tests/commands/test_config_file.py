"""The settings of `train`: precedence of options, config file, and starting model, and invalid files."""

import argparse
import dataclasses
import json
import re
from pathlib import Path

import pytest

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from annotated_transformer.commands.config_file import model_config, start_folder, training_config
from annotated_transformer.commands.train_options import DEFAULT_SHAPE, add_train_options
from annotated_transformer.config import TransformerConfig
from annotated_transformer.training.config import TrainingConfig

# Every field, with a value other than its default.
MODEL = json.loads("""{
    "vocab_size": 307, "max_length": 61, "num_layers": 3, "d_model": 22, "d_ff": 53, "num_heads": 2,
    "d_k": 5, "d_v": 7, "dropout": 0.0, "norm": "pre", "final_norm": false, "activation": "gelu",
    "positions": "learned", "attention": "fused", "attention_bias": true, "output_bias": true,
    "tied_output": false, "pad_id": 3, "bos_id": 4, "eos_id": 5}""")
TRAINING = json.loads("""{
    "steps": 11, "minutes": 1.5, "patience": 3, "batch_tokens": 101, "accumulate": 3,
    "warmup_steps": 13, "max_lr": null, "clip_norm": 0.7,
    "label_smoothing": 0.25, "bf16": true, "fast": true}""")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "settings.json").write_text(json.dumps({"model": MODEL, "training": TRAINING}))
    return tmp_path / "settings.json"


def parsed(*arguments: str, **given: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_train_options(parser)
    options = vars(parser.parse_args([*arguments, "--out", "folder"]))
    return argparse.Namespace(**options | given)


def test_law_a_file_can_give_every_field(file: Path):
    for found, fields in (
        (model_config(parsed("--config", str(file)), None), MODEL),
        (training_config(parsed("--config", str(file))), TRAINING),
    ):
        assert dataclasses.asdict(found) == fields
        assert all(
            getattr(type(found)(), name) != value for name, value in fields.items() if value is not None
        )


def test_law_an_integer_is_accepted_where_a_float_is_expected(tmp_path: Path):
    (tmp_path / "whole.json").write_text('{"model": {"dropout": 0}, "training": {"minutes": 2, "steps": 3}}')
    options = parsed("--config", str(tmp_path / "whole.json"))
    found = model_config(options, None).dropout, *vars(training_config(options)).values()
    assert found[:3] == (0.0, 3, 2.0)
    assert [type(value) for value in found[:3]] == [float, int, float]


def test_law_options_override_the_config_file(file: Path):
    options = parsed("--config", str(file), d_ff=17, norm=None, steps=7, bf16=False, max_lr=None)
    assert model_config(options, None) == TransformerConfig(**MODEL | {"d_ff": 17})
    assert training_config(options) == TrainingConfig(**TRAINING | {"steps": 7, "bf16": False})


def test_law_settings_have_defaults_without_a_config_file(tmp_path: Path):
    assert model_config(parsed(d_ff=None), None) == DEFAULT_SHAPE
    (tmp_path / "empty.json").write_text("\ufeff{}", encoding="utf-8")  # as Windows saves UTF-8
    for options in (parsed(minutes=2.0), parsed("--config", str(tmp_path / "empty.json"), minutes=2.0)):
        found = training_config(options)
        assert (found.steps, found.minutes, found.fast, found.bf16) == (None, 2.0, False, False)


def test_law_a_starting_model_determines_the_shape_but_not_the_dropout(folder: Path):
    found = checkpoint.load(folder)[0].config
    assert found.dropout != 0.1
    assert model_config(parsed(), folder) == dataclasses.replace(found, dropout=0.1)
    given = parsed(d_model=20, num_layers=1, vocab_size=found.vocab_size, dropout=0.5)  # its values
    assert model_config(given, folder) == dataclasses.replace(found, dropout=0.5)


def test_law_start_accepts_the_name_of_a_packaged_model(pretrained: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert start_folder(None) is None
    assert start_folder(Path("en-de")) == pretrained_folder("en-de") == pretrained
    assert start_folder(Path("en-fr")) == Path("en-fr")
    Path("en-de").mkdir()  # the user's own folder
    assert start_folder(Path("en-de")) == Path("en-de")


@pytest.mark.usefixtures("pretrained")
def test_law_fine_tuning_a_model_of_the_package_needs_no_sizes(tmp_path: Path, capsys):
    for language, text in (("en", "Two dogs.\n"), ("de", "A child\n")):
        (tmp_path / f"train.{language}").write_text(text * 3)
    arguments = ["train", "--data", str(tmp_path), "--start", "en-de", "--steps", "1", "--warmup-steps", "1"]
    assert command_line.main([*arguments, "--out", str(tmp_path / "out")]) == 0
    assert "warning" not in capsys.readouterr().err
    ours, theirs = (checkpoint.load(place)[0] for place in (tmp_path / "out", pretrained_folder("en-de")))
    assert ours.config == dataclasses.replace(theirs.config, dropout=0.1)


@pytest.mark.message
@pytest.mark.usefixtures("pretrained")
def test_message_a_starting_model_of_other_languages(tmp_path: Path, capsys):
    other = ["--source", "de", "--target", "en", "--d-model", "22"]
    arguments = ["train", "--data", str(tmp_path), "--start", "en-de", "--steps", "1", *other]
    assert command_line.main([*arguments, "--out", str(tmp_path / "out")]) == 2
    warning, error = capsys.readouterr().err.splitlines()
    said = "warning: --start en-de was trained from en to de, and this run translates from de to en"
    assert warning == said
    assert "has --d-model 20, not 22; leave these settings out, or train" in error


@pytest.mark.message
def test_message_a_starting_model_of_another_shape(folder: Path, file: Path):
    found = checkpoint.load(folder)[0].config
    expected = rf"has vocab_size={found.vocab_size}, not 4000 and num_layers=1, not 2; .* without --start"
    with pytest.raises(ValueError, match=expected):
        model_config(parsed(vocab_size=4000, num_layers=2, d_model=20), folder)
    with pytest.raises(ValueError, match=r"has .*max_length=37, not 61 and .* leave these"):
        model_config(parsed("--config", str(file)), folder)


@pytest.mark.message
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not JSON (Expecting property name enclosed in double quotes: line 1 column 2"),
        pytest.param("[" * 99_999, "is not JSON (maximum recursion depth exceeded", id="deep"),
        ("\udcff", "is not JSON ('utf-8' codec can't decode byte 0xff"),
        ('{"model": 3}', f"has no object in 'model'; give one with any of {', '.join(map(repr, MODEL))}"),
        ('{"model": {"d_k": 7, "d_ff": 8, "d_k": 9}}', "has 'd_k' twice; leave one out"),
        ('{"modle": {}}', "has 'modle', which is unknown; choose from 'model', 'training'"),
        (
            '{"training": {"lr": 1, "steps": 2, "momentum": 3}}',
            "has 'lr', 'momentum' in 'training', which is unknown; "
            f"choose from {', '.join(map(repr, TRAINING))}",
        ),
    ],
)
def test_message_an_invalid_config_file(tmp_path: Path, text: str, sentence: str):
    file = tmp_path / "settings.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    options = parsed("--config", str(file), steps=1)
    with pytest.raises(ValueError, match=re.escape(f"--config {file} {sentence}")):
        training_config(options)


@pytest.mark.message
@pytest.mark.parametrize(
    ("section", "name", "value", "kind"),
    [
        ("model", "d_ff", "2.0", "a whole number"),
        ("model", "d_ff", "true", "a whole number"),
        ("model", "d_k", '"7"', "a whole number or null"),
        ("model", "norm", '"mid"', '"post" or "pre"'),
        ("training", "bf16", "1", "true or false"),
        ("training", "max_lr", "true", "a number or null"),
        ("training", "max_lr", "1" + "0" * 400, "a number or null"),
    ],
)
def test_message_a_value_of_another_type_in_the_config_file(file: Path, section, name, value, kind):
    file.write_text(f'{{"{section}": {{"{name}": {value}}}}}')
    sentence = f"--config {file} has {value} as {name!r} in {section!r}, which takes {kind}; correct it"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        training_config(parsed("--config", str(file), steps=1))


@pytest.mark.message
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"training": {"warmup_steps": 0}}', "warmup_steps=0 is not a positive whole number; give one"),
        (
            '{"model": {"d_model": 22}}',
            "d_model=22 does not split into num_heads=4 equal heads; change one of them, or give both --d-k "
            "and --d-v",
        ),
        ('{"model": {"pad_id": 3}}', "pad_id=3 (see --config) is not that of the tokenizer, 0; leave it out"),
        (None, "--config {} is not a regular file; give another name"),
    ],
)
def test_message_settings_that_do_not_fit(tmp_path: Path, text: str | None, sentence: str, capsys):
    file = tmp_path / "settings.json"
    file.mkdir() if text is None else file.write_text(text)
    for language in ("en", "de"):
        (tmp_path / f"train.{language}").write_text("A child\n")
    arguments = ["--config", str(file), "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert command_line.main(["train", *arguments, "--steps", "1"]) == 2
    assert capsys.readouterr() == ("", f"error: {sentence.format(file)}\n")
