"""The work of `translate`, `train` and `evaluate`: long, and slow to import, so `--help` goes without it."""
