"""The command line from end to end on a small language: one real run, the help, and a table of mistakes."""

import contextlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer import registry
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import EN_DE, pretrained_names
from annotated_transformer.checkpointing.training_state_file import read_progress
from annotated_transformer.commands.running.decoding import LENGTH_PENALTIES, search_settings
from annotated_transformer.training import trainer
from tests.fixtures import unchecked_shapes

NOUNS = {"dog": "Hund", "man": "Mann", "tree": "Baum"}
VERBS = {"sees": "sieht", "hears": "hört"}
PAIRS = [
    (f"The {a} {verb} the {b}.", f"Der {NOUNS[a]} {VERBS[verb]} den {NOUNS[b]}.")
    for a in NOUNS
    for verb in VERBS
    for b in NOUNS
]
PROGRAM = [sys.executable, "-m", "annotated_transformer"]
TRAIN = "train --steps 60 --batch-tokens 211 --warmup-steps 30 --vocab-size 300 --num-layers 1 --d-model 32"
TRAIN = [*TRAIN.split(), "--d-ff", "64", "--max-lr", "0.01", "--threads", "1"]
SMALL = ["--d-model", "12", "--d-ff", "14", "--num-heads", "3"]
pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for split, pairs in {"train": PAIRS * 11, "val": PAIRS[:3], "test": PAIRS}.items():
        for language, texts in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            (folder / f"{split}.{language}").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (folder / "pairs.tsv").write_text("".join(f"x\t{b}\t{a}\n" for a, b in PAIRS), encoding="utf-8")
    (folder / "foreign").mkdir()
    (folder / "foreign" / "config.json").touch()
    return folder


@pytest.fixture(scope="module")
def trained(data: Path) -> tuple[Path, str]:
    """Train a model in this process, and return its folder and what the command logged."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out), unchecked_shapes():
        assert command_line.main([*TRAIN, "--data", str(data), "--out", str(data / "model")]) == 0
    assert out.getvalue() == ""
    return data / "model", err.getvalue()


def same_model(one: Path, other: Path) -> bool:
    ours, theirs = (checkpoint.load(folder)[0].state_dict() for folder in (one, other))
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_law_a_model_is_trained_and_evaluated_and_translates(trained: tuple[Path, str], data: Path, capsys):
    head, few, terms, device, known, *lines, last = trained[1].splitlines()
    assert re.fullmatch(r"Training on cpu\.|Training on cuda:0 \(.+\)\.", device)
    assert head.startswith("files: train 198, test 18, val 3 pairs; left out: ")
    assert few.startswith("There are only 198 pairs to train on. ")
    assert terms == "Terms: your own."
    assert known.startswith("warning: 3 of 3 validation pairs (100%) are training pairs: ")
    assert last == f"{trained[0]} has the model of step 60"
    losses = (
        r"step \d+: training loss .+ \(smoothed by 0\.1\), validation loss .+ \(unsmoothed, perplexity (.+)\)"
    )
    perplexities = [float(re.fullmatch(losses, line)[1]) for line in lines]
    assert perplexities[-1] < 1.5 < perplexities[0]
    model = ["--model", str(trained[0])]
    assert command_line.main(["translate", *model, *(text for text, _ in PAIRS[:3])]) == 0
    translations = capsys.readouterr().out.splitlines()
    assert len(translations) == 3
    assert set(translations) <= {text for _, text in PAIRS}  # in this language, if not always right
    assert command_line.main(["evaluate", *model, "--data", str(data)]) == 0
    assert float(re.match(r"BLEU = ([\d.]+)\nnrefs:1\|", capsys.readouterr().out)[1]) > 50


def test_law_a_run_whose_log_is_closed_is_killed_and_resumed_and_gives_the_same_model(
    data: Path, trained: tuple[Path, str], tmp_path: Path
):
    arguments = [*TRAIN, "--data", str(data), "--out", str(tmp_path)]
    state, saved = tmp_path / "training.safetensors", set()
    with subprocess.Popen([*PROGRAM, *arguments, "--save-minutes", "0"], stderr=subprocess.PIPE) as process:
        process.stderr.close()
        while process.poll() is None and len(saved) < 5:
            saved |= {state.stat().st_mtime_ns} if state.exists() else set()
            time.sleep(0.001)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert 0 < read_progress(tmp_path).step < 60
    assert command_line.main(arguments) == 0
    assert same_model(tmp_path, trained[0])


def test_law_a_run_interrupted_by_two_signals_says_how_to_resume_and_gives_the_same_model(
    data: Path, trained: tuple[Path, str], tmp_path: Path, root: Path, monkeypatch, capsys
):
    out, update = tmp_path / "a folder", trainer.update
    command = [*TRAIN, "--data", str(data), "--out", str(out)]
    for number, status, last in ((signal.SIGINT, 130, 7), (signal.SIGTERM, 143, 31)):

        def stop(state, *args, number: int = number, last: int = last) -> trainer.Update:
            made = update(state, *args)
            if state.progress.step == last:
                os.kill(os.getpid(), number)
            return made

        monkeypatch.setattr(trainer, "update", stop)
        assert command_line.main(command) == status
        *_, saved, resume, word = capsys.readouterr().err.splitlines()
        assert saved == f"step {last} is saved in {out}; to resume, run"
        assert read_progress(out).step == last
        assert word == {130: "interrupted", 143: "terminated"}[status]
        assert resume == f"cd {shlex.quote(str(Path.cwd()))} && {shlex.join([*PROGRAM, *command])}"
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(resume, shell=True, cwd="/", env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert b"resuming at step 31" in done.stderr
    assert same_model(out, trained[0])


PARTS = """
from annotated_transformer import register_attention
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

@register_attention("mine")
class Mine(MultiHeadAttention):
    def __init__(self, config, place):
        super().__init__(config.d_model, config.num_heads)
"""


def test_law_a_module_of_the_user_registers_an_attention(data: Path, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setattr(registry, "_attentions", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts_of_a_test.py").write_text(PARTS)
    (tmp_path / "config.json").write_text(json.dumps({"model": {"attention": "mine"}}))
    train = [*TRAIN, *SMALL, "--steps", "1", "--data", str(data), "--config", "config.json", "--out", "model"]
    assert command_line.main(train) == 2
    assert "attention='mine'; choose from" in capsys.readouterr().err
    assert command_line.main([*train, "--import", "parts_of_a_test"]) == 0
    assert json.loads(Path("model/config.json").read_text())["attention"] == "mine"
    monkeypatch.setattr(registry, "_attentions", {})
    assert command_line.main(["translate", "--model", "model", "the dog sleeps"]) == 2
    assert "model needs the attention 'mine', and a model folder holds no code" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "parts_of_a_test")
    export = ["export", "--model", "model", "--to", "safetensors", "--out", "exported"]
    assert command_line.main([*export, "--import", "parts_of_a_test"]) == 0


# Mistakes: a command line, and what it says.
OWN = "--train-source {data}/train.en --train-target {data}/train.de"
COMPARED = "evaluate --hypotheses {data}/test.de --references {data}/test.de"
MISTAKES = {
    "": "the following arguments are required: COMMAND; see annotated-transformer --help",
    "train": "the following arguments are required: --out; see annotated-transformer train --help",
    "translate A --bean 5": "unrecognized arguments: --bean 5 (did you mean --beam?); see",
    "evaluate -q file": "unrecognized arguments: -q file; see",
    "translate --model '' A": "argument --model: '' is not a path; give the name of a file or folder; see",
    "train --out o --norm mid": "argument --norm: invalid choice: 'mid' (choose from ",
    "translate A --threads 0": "threads=0 is not a number from 1 to 1024; give one",
    "translate A --import lost_parts": "No module named 'lost_parts'",
    "translate A --model {data}": "{data} has no config.json and no ",
    "translate --model m": 'nothing to translate; give a text, such as "A man is sleeping.", or lines on',
    "translate A --model m --pretrained de-en": "--model and --pretrained exclude each other; leave one of",
    "translate A --temperature 2": "--temperature has an effect only with --sample; add it, or leave --temp",
    "translate A --seed 0": "--seed has an effect only with --sample; add it, or leave --seed out",
    "translate A --alpha 0": "--alpha has an effect only with --beam or --nbest; add it, or leave --al",
    "translate A --sample --beam 1": "--beam and --sample exclude each other; leave one of them out",
    "translate A --engine-dtype int8": "--engine-dtype has an effect only with --engine; add it, or leave",
    "translate A --engine ctranslate2 --fast": "--fast and --engine exclude each other; leave one of them",
    "translate A --engine ctranslate2 --device cuda": "--engine computes on the CPU, and --device is cuda;",
    "translate A --source fr": "--source fr, but the model en-de translates from en to de; leave",
    "translate A --nbest 3 --beam 2": "nbest=3 hypotheses are more than beam_size=2 finds; give beam_size=3",
    "translate A --input {data}/test.en": "--input and texts exclude each other; leave one of them out",
    "translate --input nowhere": "--input nowhere does not exist; give the name of a file",
    "translate --input {data}": "--input {data} is not a regular file; give another name",
    "translate A --output nowhere/out": "--output nowhere/out needs the folder nowhere; make it, or give",
    "translate --input {data}/test.en --output {data}/test.en": "--output {data}/test.en would replace --in",
    "train --data {data} --out out": "steps=None and minutes=None: training would never end; give one of",
    "train --steps 1 --data {data} --out {data}/val.de/m": "--out {data}/val.de/m cannot be made (Not a dir",
    "train --steps 1 --data {data} --out {data}/foreign": "{data}/foreign holds a model and no training.saf",
    "train --steps 1 --data {data} --out o --device cuda": "device='cuda', but PyTorch ",
    "train --steps 1 --data {data} --out o --save-minutes nan": "save_minutes=nan is not a duration; give 0",
    "train --steps 1 --data {data} --out o --start m": "there is no model folder m",
    "train --steps 1 --out o --train-source {data}/train.en": "--train-source has an effect only with --tra",
    f"train --steps 1 --out o {OWN} --train-tsv {{data}}/pairs.tsv": "--train-tsv and --train-source exclude",
    f"train --steps 1 --out o {OWN} --columns 1,2": "--columns has an effect only with --train-tsv or --val",
    "train --corpus toy --start en-de --vocab-size 9 --out o": "vocab_size=9, but the tokenizer of ",
    f"train --steps 1 --out o {OWN} --corpus toy": "--corpus and --train-source exclude each other; leave",
    "train --steps 1 --out o --valid-tsv {data}/pairs.tsv": "there is no split train among the files (the",
    "train --steps 1 --out o --train-tsv {data}/pairs.tsv --columns 1": "--columns 1 are not two columns; g",
    "evaluate --corpus toy --split dev --output o": "toy has no split 'dev'; choose from train, val, test",
    "evaluate --model m --data {data} --split dev": "{data} has neither dev.en nor dev.en.gz; it contains ",
    "evaluate --data {data} --output {data}/test.de": "--output {data}/test.de would replace a file of the",
    "evaluate --hypotheses {data}/test.de": "--hypotheses has an effect only with --references; add it, or",
    "evaluate --hypotheses {data}/val.de --references {data}/test.de": "{data}/val.de has 3 lines and ",
    f"{COMPARED} --model m": "--hypotheses and --model exclude each other; leave one of them out",
    f"{COMPARED} --metric bleu,comet": "'comet' is not a metric; choose from bleu, chrf, chrf++, ter, separ",
    f"{COMPARED} --metric ter --protocol multi30k": "--bleu-tokenizer and --protocol have an effect only on",
    f"{COMPARED} {{data}}/test.de --protocol multi30k": "--protocol multi30k takes one reference; give one",
    f"{COMPARED} --bleu-tokenizer zh --protocol multi30k": "--protocol multi30k tokenizes by Moses, not by ",
    f"{COMPARED} --target xx --protocol multi30k": "Moses has no rules for the language 'xx'; choose ",
    f"{COMPARED} --bleu-tokenizer mecab": "there is no tokenizer 'mecab' for BLEU; choose from 13a, char,",
    "curves {data} --to curves.doc": "--to curves.doc ends in .doc; choose .svg, .png or .pdf",
    "export --to onnx --pretrained en-de --out o --dtype bfloat16": "--to onnx has no dtype='bfloat16'; cho",
    "export --to marian --pretrained en-de --out {data}": "--out {data} already holds foreign; give a new",
    "export --to marian --out o": "there is no model to export; give --model or --pretrained",
    "import --from marian {data} --out o": "{data} has no config.json; it contains foreign, model",
    "grade a.ipynb --timeout nan": "timeout=nan is not a time; give a number of seconds above 0",
    "grade a.ipynb --jobs 0": "jobs=0 executes no notebook; give 1 or more",
    "grade b.ipynb --csv a.ipynb": "--csv a.ipynb would overwrite a notebook; give another file, or -",
}


@pytest.mark.message
@pytest.mark.parametrize("command", MISTAKES)
def test_message_a_mistake_is_one_sentence_with_status_2(data, command, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("ANNOTATED_TRANSFORMER_DATA", raising=False)
    (tmp_path / "stdin").touch()
    arguments = shlex.split(command.replace("{data}", str(data)))
    with (tmp_path / "stdin").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        try:
            status = command_line.main(arguments)
        except SystemExit as ended:  # of argparse
            status = ended.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    *_, error = err.splitlines()  # the lines before it summarize the corpus
    assert error.startswith(f"error: {MISTAKES[command].replace('{data}', str(data))}")


@pytest.mark.message
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not JSON (Expecting property name enclosed in double quotes: line 1 column 2"),
        ('{"model": 3}', "has 3; give an object with any of vocab_size, max_length, num_layers"),
        ('{"modle": {}}', "has ['modle']; give an object with any of model, training"),
        ('{"model": {"d_ff": 2.0}}', "d_ff=2.0; choose a positive whole number"),
        ('{"model": {"pad_id": 3}}', "pad_id=3 is not that of the tokenizer, 0; leave it out"),
        ('{"training": {"bf16": 1}}', "bf16=1 is not a bool; give True or False"),
    ],
    ids=range(6),
)
def test_message_an_invalid_config_file(tmp_path: Path, text: str, sentence: str, capsys):
    (tmp_path / "settings.json").write_text(text)
    command = ["train", "--config", str(tmp_path / "settings.json"), "--corpus", "toy", "--steps", "1"]
    assert command_line.main([*command, "--out", str(tmp_path / "out")]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.message
@pytest.mark.parametrize(
    "error", [MemoryError("m"), torch.OutOfMemoryError("m"), RuntimeError("m: can't allocate memory")]
)
def test_message_too_little_memory(error: Exception, capsys, monkeypatch):
    raised = [error, RuntimeError("a mistake of ours")]

    def fail(options: object) -> None:
        raise raised.pop(0)

    monkeypatch.setattr(command_line.COMMANDS["translate"], "translate_command", fail)
    assert command_line.main(["translate", "A"]) == 2
    sentence = r"error: out of memory \(m.*\); give smaller sizes, batches or beams\n"
    assert re.fullmatch(sentence, capsys.readouterr().err)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        command_line.main(["translate", "A"])


@pytest.mark.filterwarnings("always")
def test_law_a_warning_is_one_line(monkeypatch, capsys):
    def warn(options: object) -> None:
        warnings.warn("the folder is full", stacklevel=1)

    monkeypatch.setattr(command_line.COMMANDS["train"], "train_command", warn)
    assert command_line.main(["train", "--out", "out"]) == 0
    assert capsys.readouterr().err == "warning: the folder is full\n"


def test_law_translation_uses_one_thread_by_default(monkeypatch):
    threads: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    for name, command in command_line.COMMANDS.items():
        monkeypatch.setattr(command, f"{name}_command", lambda options: None)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for command in ("train --out out", "translate A", "evaluate", "translate A --threads 2"):
        assert command_line.main(command.split()) == 0
    assert threads == [1, 1, 2]
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert command_line.main(["evaluate"]) == 0
    assert threads == [1, 1, 2]


def test_law_closing_the_output_early_is_not_an_error(trained: tuple[Path, str], tmp_path: Path):
    (tmp_path / "lines").write_text("The dog sees the man.\n" * (3 * 128))  # more than the pipe holds
    command = [*PROGRAM, "translate", "--model", str(trained[0]), "--input", str(tmp_path / "lines")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, pipesize=4096
    ) as process:
        assert process.stdout.readline().endswith(b"\n")
        process.stdout.close()
        err = process.stderr.read().decode()
    assert process.returncode == 0
    assert re.fullmatch(r"Translating on (cpu|cuda:0 \(.+\))\.\n", err)


def test_law_an_interruption_while_pytorch_is_imported_shows_no_traceback(tmp_path: Path, root: Path):
    (tmp_path / "torch.py").write_text("raise KeyboardInterrupt")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    command = [*PROGRAM, "translate", "A text."]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


WITHOUT_PYTORCH = """
import sys
from annotated_transformer.__main__ import main
status = None
try:
    status = main(sys.argv[1:])
finally:
    assert "torch" not in sys.modules
    sys.exit(status)
"""
COMPARE = "evaluate --hypotheses text --references text --metric bleu,chrf,chrf++,ter"


@pytest.mark.parametrize(
    ("command", "start"),
    [
        ("--help", "usage: annotated-transformer "),
        *((f"{name} --help", rf"usage: annotated-transformer {name} ") for name in command_line.COMMANDS),
        ("--version", r"annotated-transformer \d"),
        (COMPARE, r"BLEU = 100\.00(?s:.)*TER = 0\.00"),
    ],
)
def test_law_the_help_and_comparing_files_need_no_pytorch(command: str, start: str, tmp_path: Path):
    (tmp_path / "text").write_text("A man is sleeping in the park.\n", "utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    program = [sys.executable, "-c", WITHOUT_PYTORCH, *command.split()]
    done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert re.match(start, done.stdout)


@pytest.mark.parametrize("command", command_line.COMMANDS)
def test_law_the_help_states_defaults_and_examples_that_the_command_accepts(command, capsys, monkeypatch):
    with pytest.raises(SystemExit, match="0"):
        command_line.main([command, "--help"])
    text = capsys.readouterr().out
    for part in re.split(r"\n  (?=--)", text.partition("\nexamples:")[0].partition("\n\n")[2])[1:]:
        assert "(default:" in part or part.split()[0] in ("--out", "--to", "--from"), part
    (commands,) = [action.choices for action in command_line._parser([command])._actions if action.choices]
    helps = {action.dest: action.help.partition(" (default")[0] for action in commands[command]._actions}
    unexplained = [name for name, words in helps.items() if words == name]
    assert not unexplained, "an option's help is the sentence about it below Attributes: in its class"
    monkeypatch.setattr(command_line, "check_options", lambda *_: None)  # the files are not there
    monkeypatch.setattr(command_line.COMMANDS[command], f"{command}_command", lambda options: None)
    lines = re.findall(r"^ *annotated-transformer (.+)", text.replace("\\\n", ""), re.MULTILINE)
    assert len(lines) == len(command_line.COMMANDS[command].EXAMPLES)
    for line in lines:
        assert command_line.main(shlex.split(line)) == 0


def test_law_the_defaults_in_the_help_are_those_in_use():
    parser = command_line._parser(["translate"])
    (commands,) = [action.choices for action in parser._actions if action.choices]
    text = " ".join(commands["translate"].format_help().split())
    assert f"in this package: {' or '.join(pretrained_names())} (default: " in text
    assert f" or {EN_DE})" in text
    for name, penalty in LENGTH_PENALTIES.items():
        (alpha,) = re.findall(rf"([\d.]+) for {name}", text)
        command = ["translate", "A", "--beam", "2", "--length-penalty", name]
        assert search_settings(parser.parse_args(command))["length_penalty"] == penalty(float(alpha))
