"""A tiny training run, whose reports are drawn."""

from tests.tiny_run import run as run
