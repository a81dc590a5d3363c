"""The planned chapters in the sidebar: grayed lines, each between its neighbors."""

from itertools import groupby
from typing import cast

from bs4 import BeautifulSoup, Tag

from builder.chapters import Chapter


def add_planned(navigation: BeautifulSoup, chapters: list[Chapter]) -> None:
    """Put the planned chapters into the sidebar, each between its neighbors, and any missing parts."""
    captions = {caption.get_text(strip=True): caption for caption in navigation.select("p.caption")}
    last: Tag | None = None
    for part, members in groupby(chapters, key=lambda chapter: chapter.part):
        if part in captions:
            lines = cast(Tag, captions[part].find_next("ul"))
        elif last is not None:
            lines = _new_part(navigation, part, last)
        else:
            return  # none of the parts so far is in the table of contents
        existing = iter(lines.find_all("li", recursive=False))
        at = 0
        for chapter in members:
            if chapter.file:
                item = next(existing, None)
                at = at if item is None else lines.index(item) + 1
            else:
                lines.insert(at, _planned_line(navigation, chapter))
                at += 1
        last = lines


def _new_part(navigation: BeautifulSoup, part: str, after: Tag) -> Tag:
    caption = navigation.new_tag("p", attrs={"class": "caption", "role": "heading", "aria-level": "2"})
    words = navigation.new_tag("span", attrs={"class": "caption-text"})
    words.string = part
    caption.append(words)
    lines = navigation.new_tag("ul", attrs={"class": "nav bd-sidenav"})
    after.insert_after(caption, lines)
    return lines


def _planned_line(navigation: BeautifulSoup, chapter: Chapter) -> Tag:
    item = navigation.new_tag("li", attrs={"class": "toctree-l1 at-planned"})
    words = navigation.new_tag("span", attrs={"title": "planned"})
    words.string = f"{chapter.number}. {chapter.title}"
    said = navigation.new_tag("span", attrs={"class": "at-hidden"})
    said.string = " (planned)"
    words.append(said)
    item.append(words)
    return item
