"""The map at the head of a chapter is the explorer's drawing, in which the chapter's part is lit."""

import re
from dataclasses import replace

import pytest

from builder.chapters import ROOT, read_chapters
from builder.explorer import still
from builder.site.front.model_map import GROUP, model_map

CHAPTERS = read_chapters(ROOT)


def test_law_the_map_is_what_its_scripts_draw(chromium, tmp_path, monkeypatch):
    assert not still.refresh_map(redraw=False)
    committed = still.MAP.read_text(encoding="utf-8")
    monkeypatch.setattr(still, "MAP", tmp_path / "map.svg")
    assert still.refresh_map(redraw=False)
    assert not still.refresh_map(redraw=True)
    drawn = still.MAP.read_text(encoding="utf-8")
    assert [names for names, _ in GROUP.findall(drawn)] == [names for names, _ in GROUP.findall(committed)]


def test_law_a_map_lights_parts_of_its_chapter_and_a_part_leads_to_the_chapter_about_it():
    for chapter in CHAPTERS:
        html = model_map(CHAPTERS, chapter)
        assert html.count("<a ") == html.count("</a>")
        assert "at-lit" in html
        whole = {"encoder", "decoder"} <= {*chapter.here}
        assert whole == (html.count("<a ") == html.count('<a class="at-lit"'))
    cross = next(each for each in CHAPTERS if each.here == ("cross-attention",))
    (lit,) = set(re.findall(r'<a class="at-lit" href="([^"]+)"', model_map(CHAPTERS, cross)))
    assert lit == f"{cross.name}.html"


@pytest.mark.message
def test_message_a_part_that_is_not_on_the_map():
    with pytest.raises(ValueError, match=r"the map has no engine; its parts are .*, words$"):
        model_map(CHAPTERS, replace(CHAPTERS[0], here=("norm", "engine")))
