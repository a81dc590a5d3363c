"""Start processes that train together, as users do with torchrun."""

import os
import subprocess
import sys
from pathlib import Path


def torchrun(processes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script, or with `-m` a module, in so many processes of one thread each."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={processes}", *arguments]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of such processes, which find the package and the tests, with more variables."""
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, **variables}
