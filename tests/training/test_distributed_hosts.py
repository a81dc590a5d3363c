"""Two hosts train together: two agents of torchrun on this one, and two network namespaces in `make hosts`.

Each has its own files: only the first one has the state and the model of the training run.
"""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing.training_state_file import read_progress
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.text.toy.pairs import toy_pairs
from tests.torchrun import environment
from tests.toy_recipe import weights

pytestmark = pytest.mark.usefixtures("unchecked", "one_thread")
STEPS, FATAL = 9, 5
SETTINGS = (
    f"train --source en --target de --steps {STEPS} --vocab-size 301 --num-layers 1 --d-model 8 --d-ff 16 "
    "--num-heads 2 --dropout 0 --batch-tokens 299 --accumulate 2 --warmup-steps 3 --save-minutes 0 "
    "--device cpu"
).split()
# The program, in which the process of one rank is killed after an update.
SCRIPT = f"""
import os, signal, sys
from annotated_transformer.__main__ import main
from annotated_transformer.training import trainer

killed, update = int(sys.argv.pop(1)), trainer.update

def fatal(state, *rest):
    note = update(state, *rest)
    if state.progress.step == {FATAL} and state.group.rank == killed:
        os.kill(os.getpid(), signal.SIGKILL)
    return note

trainer.update = fatal
sys.exit(main())
"""


@dataclass
class Hosts:
    """Two hosts: the words that run a command on each, their networks, and the address of the first."""

    folder: Path
    enter: tuple[list[str], list[str]] = ([], [])
    networks: tuple[str, str] = ("lo", "lo")
    address: str = "127.0.0.1"

    def write(self, rank: int, pairs: list[SentencePair]) -> None:
        data = self.folder / f"data{rank}"
        data.mkdir(exist_ok=True)
        for language, lines in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            (data / f"train.{language}").write_text("\n".join(lines) + "\n", "utf-8")

    def files(self, rank: int, run: str) -> list[str]:
        return ["--data", str(self.folder / f"data{rank}"), "--out", str(self.folder / f"{run}{rank}")]

    def train(self, run: str, *, killed: int = -1) -> list[str]:
        """Start torchrun on both, and return what each wrote to stderr, with its status at the end."""
        script, port = self.folder / "script.py", free_port()
        script.write_text(SCRIPT)
        agents = []
        for rank in (0, 1):
            torchrun = ["-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={rank}"]
            torchrun += [f"--master-addr={self.address}", f"--master-port={port}", "--nproc-per-node=1", "--"]
            command = [*self.enter[rank], sys.executable, *torchrun, str(script), str(killed), *SETTINGS]
            agents.append(
                subprocess.Popen(
                    [*command, *self.files(rank, run)],
                    env=environment(GLOO_SOCKET_IFNAME=self.networks[rank]),
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        try:
            logs = [agent.communicate(timeout=120)[1] for agent in agents]
        finally:
            for agent in agents:  # those that still wait, with their processes
                agent.terminate()
        return [f"{log}\nstatus {agent.returncode}" for log, agent in zip(logs, agents, strict=True)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture(
    params=[
        pytest.param("loopback", marks=pytest.mark.slow),
        pytest.param("namespaces", marks=pytest.mark.hosts),
    ]
)
def hosts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hosts]:
    if request.param == "loopback":
        yield Hosts(tmp_path)
        return
    names = ("host0", "host1")
    with ExitStack() as created:
        for name in names:
            ip("netns", "add", name)
            created.callback(ip, "netns", "delete", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", "host0", "link", "add", "cable0", "type", "veth", "peer", "name", "cable1", "netns", "host1")
        for rank, name in enumerate(names):
            ip("-n", name, "address", "add", f"10.7.0.{1 + rank}/24", "dev", f"cable{rank}")
            ip("-n", name, "link", "set", f"cable{rank}", "up")
        enter = tuple(["ip", "netns", "exec", name] for name in names)
        yield Hosts(tmp_path, enter, ("cable0", "cable1"), "10.7.0.1")


def test_law_two_hosts_give_the_weights_of_one_and_resume_exactly_when_one_is_killed(hosts: Hosts):
    pairs = [(pair.source, pair.target) for pair in toy_pairs(97)]
    for rank in (0, 1):
        hosts.write(rank, pairs)
    for log in hosts.train("whole"):
        assert log.endswith("status 0"), log
    assert not (hosts.folder / "whole1").exists()  # rank 0 writes, on its own machine
    assert command_line.main([*SETTINGS, *hosts.files(0, "alone")]) == 0
    whole = weights(hosts.folder / "whole0")
    torch.testing.assert_close(whole, weights(hosts.folder / "alone0"), rtol=1e-4, atol=1e-6)

    for killed, lost in ((1, 0), (0, 1)):
        out = hosts.folder / f"killed {killed}, 0"
        logs = hosts.train(f"killed {killed}, ", killed=killed)
        assert "Signal 9 (SIGKILL)" in logs[killed]
        assert f"error: process {lost} of 2 has lost the connection to another one" in logs[lost]
        assert not any(log.endswith("status 0") for log in logs)
        if killed == 1:
            step = read_progress(out).step
            assert (
                f"step {step} is saved in {out}; to resume, start torchrun again on each machine" in logs[0]
            )
        assert read_progress(out).step < FATAL
        resumed = hosts.train(f"killed {killed}, ")
        assert "resuming at step 4" in resumed[0]
        torch.testing.assert_close(weights(out), whole, rtol=0, atol=0)


def test_message_two_hosts_that_were_not_started_alike(hosts: Hosts):
    hosts.write(0, [("a b", "c d")] * 97)
    missing = hosts.train("missing")
    assert f"error: there is no folder {hosts.folder / 'data1'}" in missing[1]
    assert "error: process 0 of 2 has lost the connection" in missing[0]
    hosts.write(1, [("a b", "c e")] * 97)
    for log in hosts.train("other"):
        assert "error: process 1 was not started like process 0: corpus is not the same" in log
        assert "start all with the same command, on copies of the same files" in log
