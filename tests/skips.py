"""Which skips REQUIRE_ALL allows; tests/QUARANTINES.md explains its values."""

import os

MAY_LACK = {
    "browser": "no Chromium on this machine",
    "cuda": "no CUDA device on this machine",
    "corpora": "no corpora in ../shared/data",
    "notes": "no notes in ../shared/notes",
}


def refused(reason: str) -> bool:
    """Return whether REQUIRE_ALL forbids a skip: 1 forbids every skip, but-NAME,NAME all except those.

    Raises:
        ValueError: REQUIRE_ALL has another value, such as a misspelled name.
    """
    value = os.environ.get("REQUIRE_ALL", "")
    names = value.removeprefix("but-").split(",") if value.startswith("but-") else []
    if value not in {"", "1"} and (not names or set(names) - set(MAY_LACK)):
        choices = ", ".join(MAY_LACK)
        raise ValueError(
            f"REQUIRE_ALL={value} means nothing; give 1, or but- and names from {choices}, as in but-corpora"
        )
    return bool(value) and reason.removeprefix("Skipped: ") not in {MAY_LACK[name] for name in names}
