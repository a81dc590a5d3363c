"""What is slow to import: the work of `translate`, `train` and `evaluate`, and helpers of `run`."""
