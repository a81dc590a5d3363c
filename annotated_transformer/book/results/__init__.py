"""The committed results of the benchmarks, which chapters show; each names the command that made it."""

from pathlib import Path

RESULTS = Path(__file__).parent
"""Their folder; it comes with the package, so a notebook can read it anywhere."""
