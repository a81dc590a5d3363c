"""Short digests that tell training runs apart."""

import hashlib
import json
from collections.abc import Mapping


def fingerprint(data: object) -> str:
    """Return twelve hexadecimal digits that distinguish lists, numbers and strings."""
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:12]


def run_id(identity: Mapping[str, object]) -> str:
    """Return the mark on the files of a training run: the same in each of its sessions."""
    return fingerprint(sorted(identity.items()))
