"""Fixtures for the training tests."""

from tests.tiny_run import run as run
