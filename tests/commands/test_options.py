"""Options shared by several commands, and error messages that name options instead of fields."""

import argparse

import pytest

from annotated_transformer.commands.options import name_options, path

OPTIONS = argparse.Namespace(steps=3, minutes=None, max_lr=3.0, beam=4, d_model=7, source="en", data="x")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("max_lr=3.0 is too high; give 1e-3", "--max-lr 3.0 is too high; give 1e-3"),
        ("give a smaller max_lr, or d_model.", "give a smaller --max-lr, or --d-model."),
        ("steps=None and minutes=None: no end", "no --steps and no --minutes: no end"),
        ("(steps=-1): too few steps", "(--steps -1): too few steps"),
        ("beam_size=0 keeps nothing", "--beam 0 keeps nothing"),
        ("give source='en', or another", "give --source en, or another"),
        ("positions='learned' or d_k=3", "positions='learned' or d_k=3"),  # not options of this command
        ("text 1 ('d_model=7 is') and \"max_lr\"", "text 1 ('d_model=7 is') and \"max_lr\""),
        ("/runs/max_lr/model, max_lr/3, d_model.json", "/runs/max_lr/model, max_lr/3, d_model.json"),
        ("PyTorch's d_model=7 and the seed's", "PyTorch's --d-model 7 and the seed's"),
        ("max_lr was 1 and is 2", "--max-lr was 1 and is 2"),
        ("source was en and is de, beam was False", "--source was en and is de, --beam was False"),
        ("give folder=FOLDER, a folder", "give --data FOLDER, a folder"),
    ],
)
def test_law_fields_are_named_as_options(message: str, expected: str):
    assert name_options(message, OPTIONS) == expected


def test_law_settings_of_the_config_file_keep_their_names():
    message = "d_model=30 does not fit max_lr=3.0 and norm=None; give another d_model"
    options = argparse.Namespace(d_model=None, max_lr=3.0, norm=None)
    given = "--d-model 30 does not fit --max-lr 3.0 and no --norm; give another --d-model"
    assert name_options(message, options) == given
    options.config = None
    assert name_options(message, options) == given
    options.config = "settings.json"
    assert name_options(message, options) == given.replace("--d-model 30", "d_model=30")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("has max_length=256: too short", "has max_length=256 (see --config): too short"),
        (
            "change one, or give both d_k and d_v",
            "change one, or give both d_k (see --config) and d_v (see --config)",
        ),
        ("choose positions='learned'", "choose positions='learned' (see --config)"),
        ("attention to the positions", "attention to the positions"),
    ],
)
def test_law_settings_without_an_option_lead_to_the_config_file(message: str, expected: str):
    assert name_options(message, argparse.Namespace(config=None, d_model=30)) == expected
    assert name_options(message, argparse.Namespace(d_model=30)) == message  # a command without --config


@pytest.mark.message
def test_message_an_empty_path():
    with pytest.raises(argparse.ArgumentTypeError, match="'' is not a path; give the name of a file or fold"):
        path("")
