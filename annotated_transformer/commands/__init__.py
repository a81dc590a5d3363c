"""The commands, a file for each: its options, text, examples, and `run`; long work is in `running/`."""
