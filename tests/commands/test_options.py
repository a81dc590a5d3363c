"""Options that several commands share, such as device and sampling; errors name options, not fields."""

import argparse
import re
from dataclasses import make_dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer.argument_names import Message, argument, join
from annotated_transformer.checkpointing.checkpoint import EN_DE, pretrained_names
from annotated_transformer.commands import config_file, decoding_options, evaluate_options, train_options
from annotated_transformer.commands.config_file import model_config, training_config
from annotated_transformer.commands.curves_options import add_curves_options
from annotated_transformer.commands.decoding import LENGTH_PENALTIES, PROCESSORS, sampler, search_options
from annotated_transformer.commands.download_options import add_download_options
from annotated_transformer.commands.evaluate_options import add_evaluate_options
from annotated_transformer.commands.options import name_options, path
from annotated_transformer.commands.train_options import add_train_options
from annotated_transformer.commands.translate_options import add_translate_options
from annotated_transformer.decoding.sampling import Temperature, TopK, TopP
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.metrics import METRICS
from annotated_transformer.training.config import TrainingConfig
from tests.commands.conftest import DEVICE

OPTIONS = argparse.Namespace(steps=3, minutes=None, max_lr=3.0, beam=4, source="en", data="x", bf16=True)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Message("{max_lr} is high; give {}", "max_lr=1", max_lr=3.0), "--max-lr 3.0 is high; give max_lr=1"),
        (Message("{steps}, {minutes}: no end", steps=None, minutes=None), "no --steps, no --minutes: no end"),
        (Message("({steps}): too few steps", steps=1), "(--steps 1): too few steps"),
        (Message("give {source}, or another", source="en"), "give --source en, or another"),
        (Message("{positions} or {d_k}", positions="learned"), "positions='learned' or d_k"),  # no options
        (Message("{folder}, {beam_size}, {bf16}", beam_size=2, bf16=True), "--data, --beam 2, --bf16"),
        (join("; ", [argument("steps", 2), "steps=2", argument("max_lr")]), "--steps 2; steps=2; --max-lr"),
        ("there is no folder steps=3, max_lr=2", "there is no folder steps=3, max_lr=2"),
        (ValueError("steps=3"), "steps=3"),
    ],
)
def test_law_arguments_are_named_as_options(message: object, expected: str):
    assert name_options(message, OPTIONS) == expected


def test_law_settings_of_the_config_file_keep_their_names():
    sentence = "{d_model} does not fit {max_lr}, {bf16} and {norm}; give another {}"
    message = Message(sentence, argument("d_model"), d_model=30, max_lr=3.0, norm=None, bf16=True)
    options = argparse.Namespace(d_model=None, max_lr=3.0, norm=None, bf16=None)
    given = "--d-model 30 does not fit --max-lr 3.0, --bf16 and no --norm; give another --d-model"
    assert name_options(message, options) == given
    options.config = None
    assert name_options(message, options) == given
    options.config = "settings.json"
    of_file = given.replace("--d-model 30", "d_model=30").replace("--bf16", "bf16=True")
    assert name_options(message, options) == of_file


@pytest.mark.message
@pytest.mark.parametrize("name", ["seed=2", "--seed 2", "{max_lr}", "steps=None", "'d_model=7'"])
def test_message_a_folder_keeps_its_name(name: str, capsys, monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    train = ["train", "--steps", "1", "--out", "out", "--data", f"./{name}"]
    assert command_line.main(["translate", "--model", f"./{name}", "A"]) == 2
    assert f"error: there is no model folder {name}; train" in capsys.readouterr().err
    assert command_line.main(train) == 2
    assert f"error: there is no folder {name}; give" in capsys.readouterr().err
    Path(name).mkdir()
    assert command_line.main([*train, "--source", "fr", "--target", "xx"]) == 2
    assert f"error: {name} has neither train.fr nor train.fr.gz" in capsys.readouterr().err
    (Path(name) / "train.en").write_bytes(b"A max_lr=3.\n\n")
    (Path(name) / "train.de").write_bytes(b"A.\n\n")
    assert command_line.main(train) == 2
    assert f"error: {name}/train.en, line 2 is empty\n{name}/train.de, line 2 is" in capsys.readouterr().err


@pytest.mark.message
def test_message_an_empty_path():
    with pytest.raises(argparse.ArgumentTypeError, match="'' is not a path; give the name of a file or fold"):
        path("")


ADD_OPTIONS = {
    "curves": add_curves_options,
    "download": add_download_options,
    "evaluate": add_evaluate_options,
    "train": add_train_options,
    "translate": add_translate_options,
}


def parser_of(command: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    ADD_OPTIONS[command](parser)
    return parser


def stated_defaults(command: str) -> dict[str, str]:
    helps = {action.dest: str(action.help) for action in parser_of(command)._actions}
    found = {name: re.search(r"\(default: (%\(default\)s|[^ ,;)]+)", text) for name, text in helps.items()}
    return {name: match[1] for name, match in found.items() if match}


def test_law_the_limits_of_training_are_a_group_and_placeholders_name_what_is_given():
    groups = {group.title: group._group_actions for group in parser_of("train")._action_groups}
    assert [action.dest for action in groups["limits"]] == ["steps", "minutes", "patience"]
    text = parser_of("train").format_help()
    assert "--patience EPOCHS " in text
    assert "--clip-norm NORM " in text


@pytest.mark.parametrize("command", ADD_OPTIONS)
def test_law_every_option_states_its_default(command: str):
    stated, actions = stated_defaults(command), parser_of(command)._actions
    for action in actions:
        assert action.required or action.dest in stated, action.option_strings
        assert action.help
    literal = [name for name, default in stated.items() if default == "%(default)s"]
    known = [action.dest for action in actions if type(action.default) not in (type(None), bool)]
    assert sorted(literal) == sorted(known)


def test_law_the_training_defaults_in_the_help_are_those_in_use():
    options = parser_of("train").parse_args(["--out", "folder", "--steps", "3"])
    in_use = vars(model_config(options, None)) | vars(training_config(options))
    stated = stated_defaults("train")
    for name in in_use.keys() - {"steps", "pad_id", "bos_id", "eos_id"}:
        value = {"True": "on", "False": "off"}.get(str(in_use[name]), str(in_use[name]))
        assert stated[name] == value or in_use[name] is None


def test_law_a_new_field_of_a_config_is_an_option(monkeypatch):
    more = [("decay", float | None, None), ("nesterov", bool, True)]
    texts = """
        decay: RMS of the
            `weights`, 50%; `None` means never. Not in the help.
        nesterov: Look ahead."""
    namespace = {"__doc__": f"{TrainingConfig.__doc__.rstrip()}{texts}"}
    new = make_dataclass("New", more, bases=(TrainingConfig,), namespace=namespace, frozen=True, kw_only=True)
    for module in (train_options, config_file):
        monkeypatch.setattr(module, "TrainingConfig", new)
    monkeypatch.setitem(config_file.CONFIGS, "training", new)
    parser = parser_of("train")
    text = " ".join(parser.format_help().split())
    assert (
        "--decay DECAY RMS of the weights, 50% (default: never) --nesterov, --no-nesterov look ahead" in text
    )
    found = training_config(parser.parse_args("--out x --steps 3 --decay 0.5 --no-nesterov".split()))
    assert (found.steps, found.decay, found.nesterov) == (3, 0.5, False)


def test_law_the_choices_are_those_that_exist():
    assert tuple(LENGTH_PENALTIES) == decoding_options.LENGTH_PENALTIES
    assert ("bleu", *METRICS) == evaluate_options.METRIC_NAMES
    for command in ("evaluate", "translate"):
        (pretrained,) = (one for one in parser_of(command)._actions if one.dest == "pretrained")
        assert f"in this package: {' or '.join(pretrained_names())} (" in pretrained.help
    assert stated_defaults("translate")["pretrained"] == EN_DE


@pytest.mark.parametrize("command", ["evaluate", "translate"])
def test_law_the_length_penalty_in_the_help_is_the_one_in_use(command: str):
    options = parser_of(command).parse_args(["--beam", "2"])
    stated = stated_defaults(command)
    kind = LENGTH_PENALTIES[stated["length_penalty"]]
    assert search_options(options)["length_penalty"] == kind(float(stated["alpha"]))
    text = next(str(action.help) for action in parser_of(command)._actions if action.dest == "alpha")
    for name, penalty in LENGTH_PENALTIES.items():
        (alpha,) = re.findall(rf"([\d.]+) for {name}", text)
        assert penalty() == penalty(float(alpha))


@pytest.mark.usefixtures("unchecked")  # of types: the translator is a mock
def test_law_the_sampling_defaults_in_the_help_are_those_in_use():
    asked = {}
    cpu = torch.device("cpu")
    translator = SimpleNamespace(device=cpu, sample=lambda texts, **options: asked.update(options))
    options = parser_of("translate").parse_args(["--sample"])
    sampler(options, translator)(["a text"])
    stated = stated_defaults("translate")
    assert asked["logits_processors"] == []
    logits = torch.tensor([[0.5, -1.0, 3.0]])
    for name in ("temperature", "top_p"):
        assert torch.equal(PROCESSORS[name](float(stated[name]))(logits), logits)


@pytest.mark.usefixtures("pretrained")
def test_law_samples_depend_on_the_seed(capsys):
    said = []
    for options in (
        ["--seed", "0"],
        ["--seed", "0"],
        ["--seed", "1"],
        ["--seed", "1", "--temperature", "1e-9"],
    ):
        assert command_line.main(["translate", "--sample", *options, "Two dogs.", "A child"]) == 0
        out, err = capsys.readouterr()
        assert err == DEVICE
        said.append(out)
    assert command_line.main(["translate", "Two dogs.", "A child"]) == 0
    assert said[0] == said[1] != said[2] != said[3] == capsys.readouterr().out
    assert said[2].count("\n") == 2


@pytest.mark.usefixtures("pretrained")
def test_law_samples_without_a_seed_are_new_and_can_be_drawn_again(capsys):
    drawn = {}
    for _ in range(3):
        assert command_line.main(["translate", "--sample", "Two dogs.", "A child"]) == 0
        out, err = capsys.readouterr()
        seed = re.fullmatch(rf"these samples are drawn with --seed (\d+)\n{DEVICE}", err)[1]
        assert command_line.main(["translate", "--sample", "--seed", seed, "Two dogs.", "A child"]) == 0
        assert capsys.readouterr() == (out, DEVICE)
        drawn[seed] = out
    assert len(drawn) == len({*drawn.values()}) == 3


@pytest.mark.usefixtures("pretrained")
def test_law_sampling_options_are_logits_processors(capsys, monkeypatch):
    asked: list[dict[str, object]] = []

    def sample(self: Translator, texts: list[str], **options: object) -> list[str]:
        asked.append(options)
        return texts

    monkeypatch.setattr(Translator, "sample", sample)
    options = ["--top-p", "0.5", "--temperature", "2", "--top-k", "3", "--batch-size", "7"]
    assert command_line.main(["translate", "--sample", "A"]) == 0
    assert command_line.main(["translate", "--sample", *options, "A"]) == 0
    assert [one["logits_processors"] for one in asked] == [[], [Temperature(2.0), TopK(3), TopP(0.5)]]
    assert [one["batch_size"] for one in asked] == [64, 7]
