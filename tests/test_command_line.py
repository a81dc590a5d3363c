"""The command line from end to end on a small language, and its error messages."""

import argparse
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
from annotated_transformer.argument_names import Message
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.averaging import epoch_checkpoints
from annotated_transformer.checkpointing.training_state_file import read_progress
from annotated_transformer.commands import output, train
from annotated_transformer.training import trainer
from tests.fixtures import unchecked_shapes
from tests.torchrun import torchrun

NOUNS = {"dog": "Hund", "man": "Mann", "tree": "Baum"}
VERBS = {"sees": "sieht", "hears": "hört"}
PAIRS = [
    (f"The {a} {verb} the {b}.", f"Der {NOUNS[a]} {VERBS[verb]} den {NOUNS[b]}.")
    for a in NOUNS
    for verb in VERBS
    for b in NOUNS
]
PROGRAM = [sys.executable, "-m", "annotated_transformer"]
TRAIN = ["train", "--steps", "60", "--batch-tokens", "211", "--warmup-steps", "30", "--vocab-size", "300"]
TRAIN += ["--num-layers", "1", "--d-model", "32", "--d-ff", "64", "--max-lr", "0.01", "--threads", "1"]
LOG = r"Translating on (cpu|cuda:0 \(.+\))\.\n"
SMALL = ["--d-model", "12", "--d-ff", "14", "--num-heads", "3"]
pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for split, pairs in {"train": PAIRS * 11, "val": PAIRS[:3], "test": PAIRS}.items():
        for language, texts in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            (folder / f"{split}.{language}").write_text("\n".join(texts) + "\n", encoding="utf-8")
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


def test_law_training_logs_its_metrics(trained: tuple[Path, str]):
    head, few, terms, device, *lines, last = trained[1].splitlines()
    assert re.fullmatch(r"Training on cpu\.|Training on cuda:0 \(.+\)\.", device)
    assert head.startswith("files: train 198, test 18, val 3 pairs; left out: ")
    assert few.startswith("There are only 198 pairs to train on. ")
    assert terms == "Terms: your own."
    assert last == f"{trained[0]} has the model of step 60"
    found = [
        re.fullmatch(
            r"step (\d+): training loss .+ \(smoothed by 0\.1\), validation loss (.+) "
            r"\(unsmoothed, perplexity (.+)\)",
            line,
        )
        for line in lines
    ]
    assert all(found)
    assert found[-1][1] == "60"
    assert float(found[-1][3]) < 1.5 < float(found[0][3])


def test_law_a_trained_model_translates(trained: tuple[Path, str], capsys):
    texts = [text for text, _ in PAIRS[:3]]
    assert command_line.main(["translate", "--model", str(trained[0]), *texts]) == 0
    said = capsys.readouterr().out
    assert len(said.splitlines()) == 3
    assert set(said.splitlines()) <= {text for _, text in PAIRS}  # in this language, if not always right


def test_law_the_same_seed_gives_the_same_model(data: Path, tmp_path: Path):
    for name, seed in (("first", 5), ("again", 5), ("other", 6)):
        arguments = [*TRAIN, *SMALL, "--steps", "3", "--data", str(data), "--seed", str(seed)]
        assert command_line.main([*arguments, "--out", str(tmp_path / name)]) == 0
    assert same_model(tmp_path / "first", tmp_path / "again")
    assert not same_model(tmp_path / "first", tmp_path / "other")


def test_law_a_run_continues_when_its_log_is_closed(data: Path, trained: tuple[Path, str], tmp_path: Path):
    """It is then killed, and resumed."""
    arguments = [*TRAIN, "--data", str(data), "--out", str(tmp_path)]
    state = tmp_path / "training.safetensors"
    command = [*PROGRAM, *arguments, "--save-minutes", "0"]
    saved = set()
    with subprocess.Popen(command, stderr=subprocess.PIPE, bufsize=0) as process:
        process.stderr.close()
        while process.poll() is None and len(saved) < 5:
            saved |= {state.stat().st_mtime_ns} if state.exists() else set()
            time.sleep(0.001)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert 0 < read_progress(tmp_path).step < 60
    assert command_line.main(arguments) == 0
    assert same_model(tmp_path, trained[0])


def test_law_a_run_interrupted_by_two_signals_can_be_resumed_and_gives_the_same_model(
    data: Path, trained: tuple[Path, str], tmp_path: Path, monkeypatch, capsys
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
        said = capsys.readouterr().err.splitlines()
        assert ("resuming at step 7" in said) == (last == 31)
        *_, saved, resume, word = said
        assert saved == f"step {last} is saved in {out}; to resume, run"
        assert read_progress(out).step == last
        assert word == {130: "interrupted", 143: "terminated"}[status]
        folder, _, resume = resume.partition(" && ")
        assert folder == f"cd {Path.cwd()}"
        program, command = shlex.split(resume)[:3], shlex.split(resume)[3:]
        assert program == PROGRAM
    monkeypatch.setattr(trainer, "update", update)
    assert command_line.main(command) == 0
    assert same_model(out, trained[0])


def test_law_closing_the_output_early_is_not_an_error(trained: tuple[Path, str], tmp_path: Path):
    (tmp_path / "lines").write_text("The dog sees the man.\n" * (3 * 128))  # more than the pipe holds
    command = [*PROGRAM, "translate", "--model", str(trained[0])]
    with (
        (tmp_path / "lines").open() as lines,
        subprocess.Popen(
            command,
            stdin=lines,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pipesize=4096,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        ) as process,
    ):
        assert process.stdout.readline().endswith(b"\n")
        process.stdout.close()
        err = process.stderr.read().decode()
    assert process.returncode == 0
    assert re.fullmatch(LOG, err)


def test_law_closing_the_output_at_once_is_not_an_error(data: Path, monkeypatch, capsys):
    with subprocess.Popen([*PROGRAM, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (0, b"")

    def broken(*values: object, **options: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(output, "print", broken, raising=False)
    file = str(data / "test.de")
    assert command_line.main(["evaluate", "--hypotheses", file, "--references", file]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("arguments", "status"), [(["train", "--help"], 0), (["no"], 2)])
def test_law_the_exit_status_does_not_depend_on_who_reads_the_help(arguments, status, monkeypatch):
    def broken(self: argparse.ArgumentParser, message: str, file: object = None) -> None:
        raise BrokenPipeError  # as argparse of Python 3.11.2 does, if nobody reads

    monkeypatch.setattr(argparse.ArgumentParser, "_print_message", broken)
    with pytest.raises(SystemExit) as ended:
        command_line.main(arguments)
    assert ended.value.code == status


@pytest.mark.slow  # test_distributed.py trains in two processes, too: here, by the command
def test_law_two_processes_train_the_same_model_as_one(data: Path, tmp_path: Path):
    arguments = [*TRAIN, *SMALL, "--steps", "3", "--dropout", "0", "--device", "cpu"]
    arguments += ["--data", str(data)]
    done = torchrun(2, "-m", "annotated_transformer", *arguments, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("has the model of step 3\n") == 1
    assert done.stderr.count("step 3: training loss") == 1
    checkpoint.load(tmp_path)
    assert command_line.main([*arguments, "--out", str(tmp_path / "alone")]) == 0
    together, alone = (
        json.loads((folder / "metrics.jsonl").read_text()) for folder in (tmp_path, tmp_path / "alone")
    )
    assert together["step"] == alone["step"] == 3
    for name in ("training_loss", "gradient_norm", "validation_loss", "lr"):
        assert together[name] == pytest.approx(alone[name], rel=1e-4), name  # in float32


def test_law_the_model_is_the_mean_of_the_last_epochs(data: Path, tmp_path: Path, capsys):
    arguments = [*TRAIN, *SMALL, "--data", str(data), "--out", str(tmp_path), "--average", "2"]
    assert command_line.main([*arguments, "--steps", "1"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == f"{tmp_path} has the model of step 1"
    assert command_line.main([*arguments, "--steps", "43"]) == 0
    assert "has the model of step 43, the mean of the last 2 epochs' weights" in capsys.readouterr().err
    epochs = [json.loads(line)["epoch"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert len(epochs) > 2
    assert [int(folder.name) for folder in epoch_checkpoints(tmp_path)] == epochs[-2:]


FILES = ["--data", "{data}", "--out", "out"]
MISTAKES = {
    "no limit": (
        ["train", "--data", "nowhere", "--out", "out"],
        "no --steps and no --minutes: training would never end; give one",
    ),
    "a file within a path": (
        ["train", "--steps", "1", "--data", "{data}", "--out", "{data}/val.de/model"],
        "val.de/model is not a folder; give another name",
    ),
    "a run that diverges": (
        [*TRAIN, *SMALL, "--max-lr", "1e30", *FILES],
        "training has diverged; give a smaller --max-lr, or more than --warmup-steps 30",
    ),
    "a model of another origin": (
        ["train", "--steps", "1", "--data", "{data}", "--out", "{data}/foreign"],
        "holds a model and no training.safetensors: no training run here wrote it",
    ),
    "no text": (["translate", "--model", "nowhere"], "nothing to translate; give a text, such as"),
    "no threads": (
        ["translate", "--model", "nowhere", "A", "--threads", "0"],
        "--threads 0 is not a number of threads; give 1",
    ),
    "too many threads": (
        ["translate", "--model", "nowhere", "A", "--threads", "99999999999"],
        "--threads 99999999999 is more than 1024; give at most as many as this machine has",
    ),
    "too wide a model": (
        ["train", "--steps", "1", *FILES, "--d-model", "100000000"],
        "make --vocab-size 4000, --max-length 256, --num-layers 4, --d-model 100000000 or",
    ),
    "no split": (
        ["evaluate", "--model", "m", "--data", "{data}", "--split", "dev"],
        "a split and languages (--source, --target) that are there, or another folder",
    ),
}


@pytest.mark.message
@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_message_a_user_error_is_one_sentence(data, arguments, sentence, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (data / "foreign").mkdir(exist_ok=True)
    (data / "foreign" / "config.json").touch()
    (tmp_path / "stdin").touch()
    with (tmp_path / "stdin").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert command_line.main([argument.replace("{data}", str(data)) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    *_, error = err.splitlines()  # the lines before it summarize the corpus
    assert error.startswith("error: ")
    assert sentence in error
    assert err.count("error") == 1


@pytest.mark.message
@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--steps", "1", "--out", ""],
        ["train", "--steps", "1", "--out", "out", "--data", ""],
        ["translate", "--model", ""],
        ["curves", "folder", "--to", ""],
        ["download", "tatoeba", "--to", ""],
    ],
)
def test_message_an_empty_path(arguments: list[str], capsys):
    with pytest.raises(SystemExit, match="2"):
        command_line.main(arguments)
    assert ": '' is not a path; give the name of a file or folder" in capsys.readouterr().err


@pytest.mark.message
@pytest.mark.parametrize(("option", "kind"), [("--out", "dangling"), ("--start", "fifo")])
def test_message_a_folder_option_that_is_not_a_folder(data, option, kind, capsys, tmp_path):
    path = tmp_path / "path"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "nowhere")
    folders = {"--out": str(tmp_path / "out"), option: str(path)}
    arguments = [*TRAIN, "--data", str(data), *(word for pair in folders.items() for word in pair)]
    assert command_line.main(arguments) == 2
    sentence = {"--out": f"--out {path} is not a folder; give another", "--start": "there is no model folder"}
    assert sentence[option] in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["translate", "A"], ["evaluate", "--split", "test"], ["train"]])
def test_law_translation_uses_one_thread_by_default(arguments: list[str], monkeypatch):
    threads: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    command = command_line.COMMANDS[arguments[0]]._replace(run=lambda options: None)
    monkeypatch.setitem(command_line.COMMANDS, arguments[0], command)
    arguments = [*arguments, *(["--out", "out"] if arguments == ["train"] else [])]
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert command_line.main(arguments) == 0
    assert threads == ([] if arguments[0] == "train" else [1])
    assert command_line.main([*arguments, "--threads", "2"]) == 0
    assert threads[-1] == 2
    threads.clear()
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert command_line.main(arguments) == 0
    assert threads == []


@pytest.mark.filterwarnings("always")
def test_law_a_warning_is_one_line(monkeypatch, capsys):
    def warn(options: object) -> None:
        warnings.warn("the folder is full", stacklevel=1)
        warnings.warn(Message("leave out {bf16}", bf16=True), stacklevel=1)
        for several in (UserWarning(), UserWarning("one", 2)):
            warnings.warn(several, stacklevel=1)

    monkeypatch.setitem(command_line.COMMANDS, "train", command_line.COMMANDS["train"]._replace(run=warn))
    assert command_line.main(["train", "--out", "out"]) == 0
    expected = "the folder is full", "leave out --bf16", "", "('one', 2)"
    assert capsys.readouterr().err == "".join(f"warning: {line}\n" for line in expected)


@pytest.mark.message
def test_message_a_folder_that_cannot_be_written(data: Path, capsys, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(train.os, "access", lambda path, mode: False)  # root may write anywhere
    arguments = ["train", "--steps", "1", "--data", str(data), "--out", str(tmp_path)]
    assert command_line.main(arguments) == 2
    assert "cannot be written to; give another folder for --out" in capsys.readouterr().err


def test_law_an_interruption_while_pytorch_is_imported_shows_no_traceback(tmp_path: Path):
    (tmp_path / "torch.py").write_text("raise KeyboardInterrupt")
    paths = os.pathsep.join(map(str, [tmp_path, Path(__file__).parents[1]]))
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [*PROGRAM, "translate", "A text."]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


WITHOUT_PYTORCH = """
import sys
sys.modules["torch"] = None  # an import of it fails
from annotated_transformer.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def test_law_comparing_files_needs_no_pytorch(tmp_path: Path):
    (tmp_path / "text").write_text("A man is sleeping in the park.\n", "utf-8")
    files = ["--hypotheses", "text", "--references", "text", "--metric", "bleu,chrf,chrf++,ter"]
    program = [sys.executable, "-c", WITHOUT_PYTORCH, "evaluate", *files]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"= (.*)", done.stdout) == ["100.00"] * 3 + ["0.00"]


@pytest.mark.parametrize("command", [[], *([name] for name in command_line.COMMANDS)], ids=str)
def test_law_help_and_mistakes_need_no_pytorch(command: list[str]):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-OO", "-c", WITHOUT_PYTORCH, *command, *arguments]
        return subprocess.run(program, capture_output=True, text=True, check=False)

    if not command:
        done = run("--version")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("annotated-transformer ")
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {' '.join(['annotated-transformer', *command])} ")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, *command, "--help"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr[:42]) == (2, b"error: cannot write to the standard output")
    done = run("--mistyped", "--threads", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"error: .+; see annotated-transformer.* --help\n", done.stderr)


@pytest.mark.message
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["translate", "A", "--bean", "5"], "unrecognized arguments: --bean 5 (did you mean --beam?); "),
        (["train", "--out", "o", "--fats"], "unrecognized arguments: --fats (did you mean --fast?); "),
        (["evaluate", "-q", "file"], "unrecognized arguments: -q file; "),
        (["train"], "the following arguments are required: --out; "),
    ],
)
def test_message_a_mistyped_option(arguments: list[str], sentence: str, capsys):
    with pytest.raises(SystemExit, match="2"):
        command_line.main(arguments)
    way_out = f"see annotated-transformer {arguments[0]} --help\n"
    assert capsys.readouterr() == ("", f"error: {sentence}{way_out}")


@pytest.mark.parametrize("command", command_line.COMMANDS)
def test_law_the_help_has_groups_and_examples_that_the_command_accepts(command: str, capsys, monkeypatch):
    with pytest.raises(SystemExit, match="0"):
        command_line.main([command, "--help"])
    text = capsys.readouterr().out.replace("\\\n", "")
    groups = {"train": "corpus", "evaluate": "metrics", "translate": "texts", "export": "model"}
    assert f"\n{groups.get(command, 'positional arguments')}:\n" in text
    found = re.findall(r"^(?:Example:)? *(annotated-transformer .+)", text, re.MULTILINE)
    lines = [shlex.split(line) for line in found]
    assert lines
    ran: list[argparse.Namespace] = []
    run = command_line.COMMANDS[command]._replace(run=ran.append)
    monkeypatch.setitem(command_line.COMMANDS, command, run)
    for program, *arguments in lines:
        assert program == "annotated-transformer"
        assert arguments[0] == command
        assert command_line.main(arguments) == 0
    assert len(ran) == len(lines)


@pytest.mark.message
def test_message_resuming_with_another_corpus(data: Path, capsys, tmp_path: Path):
    arguments = [*TRAIN, *SMALL, "--steps", "1", "--data", str(data), "--out", str(tmp_path)]
    assert command_line.main(arguments) == 0
    assert command_line.main([*arguments, "--source", "de", "--target", "en", "--max-lr", "0.02"]) == 2
    changes = r"corpus is not the same, .*--max-lr was 0\.01 and is 0\.02"
    assert re.search(f"is the state of another training run: {changes}", capsys.readouterr().err)


@pytest.mark.message
def test_message_errors_in_a_shell_show_no_traceback(tmp_path: Path):
    done = subprocess.run(
        [*PROGRAM, "translate", "--model", tmp_path, "A man"], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert re.fullmatch(
        rb"error: .* has no config\.json and no .*; a model folder holds .* holds nothing\n", done.stderr
    )


@pytest.mark.message
@pytest.mark.parametrize(
    "error", [MemoryError("m"), torch.OutOfMemoryError("m"), RuntimeError("m: can't allocate memory")]
)
def test_message_too_little_memory(error: Exception, capsys, monkeypatch):
    def fail(options: object) -> None:
        raise error

    command = command_line.COMMANDS["translate"]._replace(run=fail)
    monkeypatch.setitem(command_line.COMMANDS, "translate", command)
    assert command_line.main(["translate", "A"]) == 2
    sentence = r"error: out of memory \(m.*\); give smaller sizes, batches or beams\n"
    assert re.fullmatch(sentence, capsys.readouterr().err)


@pytest.mark.message
def test_message_other_pytorch_errors_show_a_traceback(monkeypatch):
    def fail(options: object) -> None:
        raise RuntimeError("a mistake of ours")

    command = command_line.COMMANDS["translate"]._replace(run=fail)
    monkeypatch.setitem(command_line.COMMANDS, "translate", command)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        command_line.main(["translate", "A"])
