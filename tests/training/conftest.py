"""What the tests of training share."""

from tests.tiny_run import run as run
