"""What the tests of kept trainings share."""

from tests.tiny_run import run as run
