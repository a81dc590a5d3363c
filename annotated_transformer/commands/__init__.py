"""The commands, a file for each: options, text, examples, and `NAME_command`; long work is in `running/`."""
