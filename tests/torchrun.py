"""Start processes that train together, as users do with torchrun."""

import os
import subprocess
import sys
from pathlib import Path


def torchrun(processes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script, or with `-m` a module, in so many processes of one thread each."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={processes}", *arguments]
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
