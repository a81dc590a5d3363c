"""The strip at the head of a chapter has the parts that the reader knows."""

import pytest

from builder.chapters import ROOT, read_chapters
from builder.site.front.strip import KNOWN, strip

HERE = {chapter.number: chapter.here for chapter in read_chapters(ROOT)}


def test_law_a_part_is_on_the_strip_from_the_first_chapter_that_is_about_it():
    first = {part: min(chapter for chapter in HERE if part in HERE[chapter]) for part in KNOWN}
    assert first == KNOWN
    for part, label in {"embedding": "embedding", "output": "linear, softmax", "loss": "loss"}.items():
        for chapter, here in HERE.items():
            assert (f"{label}<" in strip(chapter, here)) == (chapter >= KNOWN[part]), (chapter, part)
            assert strip(chapter, here).count("<strong>") >= len(here)


@pytest.mark.message
def test_message_a_part_that_is_not_on_the_strip():
    with pytest.raises(ValueError, match=r"the strip has no engine; its parts are .*, words$"):
        strip(3, ["norm", "engine"])
