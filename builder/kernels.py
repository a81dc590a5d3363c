"""Kernels that begin as copies of one process, which has imported what all chapters import.

Importing PyTorch, Matplotlib, and the book takes two seconds of processor time, and there are 25 notebooks.
"""

import os
import signal
import sys
import threading
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import Connection

from jupyter_client.provisioning import local_provisioner

IMPORTED = [__name__, "ipykernel.kernelapp", "annotated_transformer.book", "matplotlib.backends.backend_svg"]


class Kernel:
    """A process that runs a kernel, with what jupyter_client uses of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, command: list[str], *, env: dict[str, str], cwd: str = ".", **_: object) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload(IMPORTED)
        receiver, sender = context.Pipe(duplex=False)
        options = command[command.index("ipykernel_launcher") + 1 :]
        self._process = context.Process(target=_run, args=(options, env, cwd, sender), daemon=True)
        self._process.start()
        self.pid = self._process.pid or 0
        receiver.recv_bytes()  # from now on, a signal to its group does not reach ours

    def poll(self) -> int | None:
        """Return the exit status, or None if the process is running."""
        return self._process.exitcode

    def wait(self) -> int | None:
        """Wait until the process has ended, and return its exit status."""
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process."""
        os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process."""
        self.send_signal(signal.SIGKILL)


def _run(options: list[str], env: dict[str, str], cwd: str, started: Connection) -> None:
    """Run a kernel in this process until it is shut down, or until the process that asked for it ends."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    started.send_bytes(b"")
    from ipykernel import kernelapp

    sys.argv = ["ipykernel_launcher", *options]
    kernelapp.launch_new_instance(options)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def start_as_copies() -> None:
    """Let jupyter_client start kernels this way in this process, where the system can."""
    if "forkserver" in get_all_start_methods():
        local_provisioner.launch_kernel = Kernel  # type: ignore[attr-defined, assignment]  # nbval has no option
