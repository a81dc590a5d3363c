"""How long does it take until the package is there? Seconds of CPU time, each of a new process.

Run it as `python -m benchmarks.startup`; the guide shows the result.
"""

import resource
import statistics
import subprocess
import sys

from benchmarks.record import begin, write_result

ROUNDS = 5
STARTS = {
    "annotated-transformer --help": ("-m", "annotated_transformer", "--help"),
    "import torch": ("-c", "import torch"),
    "from annotated_transformer import Translator": ("-c", "from annotated_transformer import Translator"),
}


def cpu_seconds(arguments: tuple[str, ...]) -> float:
    """Return the CPU time of a new Python with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Start each of them once in each round, and write the medians."""
    begin(__doc__)
    rounds = [{name: cpu_seconds(arguments) for name, arguments in STARTS.items()} for _ in range(ROUNDS)]
    medians = {name: round(statistics.median(each[name] for each in rounds), 2) for name in STARTS}
    print(medians)
    write_result("startup", medians)


if __name__ == "__main__":
    main()
