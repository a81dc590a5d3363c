"""Fixtures for testing saved training runs."""

from tests.tiny_run import run as run
