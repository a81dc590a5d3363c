"""Tables of all exercises: `{exercise-list}` by chapter, `{exercise-kinds}` by kind and difficulty.

They are read from the chapters' sources.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from builder.chapters import Chapter, source_of
from builder.site.fields import MARK, declared_checks, room_of
from builder.site.front.targets import TargetTable
from builder.site.rendering.numbers import KINDS, STARS, kind_and_stars

EXERCISE = re.compile(
    r"^```\{exercise-start\} (?P<title>.*)\n(?P<options>(?::.*\n)*)```\n"
    r"(?P<text>(?s:.*?))^```\{exercise-end\}",
    re.MULTILINE,
)
SOLUTION = re.compile(r"^```\{solution-start\} (ex-\S+)\n((?s:.*?))^```\{solution-end\}", re.MULTILINE)
CODE = re.compile(r"^```\{code-cell\}.*\n(?::.*\n)*((?s:.*?))^```$", re.MULTILINE)
THINKING = (0, 5, 15, 30)  # minutes, by stars
WORDS_PER_MINUTE, MINUTES_PER_LINE, STEP = 200, 1, 5


@dataclass(frozen=True)
class Exercise:
    """An exercise of a chapter, and an estimate of the minutes that it takes."""

    number: str
    label: str
    title: str
    kind: str
    stars: int
    minutes: int

    def link(self, chapter: Chapter, text: str) -> str:
        """Return a link to it, as Markdown."""
        return f"[{text}](/{chapter.file}.ipynb#{self.label})"


def exercises_of(source: str, chapter: int) -> list[Exercise]:
    """Return the exercises in the source of a chapter, in their order."""
    solutions = dict(SOLUTION.findall(source))
    found = []
    for place, match in enumerate(EXERCISE.finditer(source), start=1):
        options = dict(re.findall(r"^:(\w+): *(.*)$", match["options"], re.MULTILINE))
        label, (kind, stars) = options["label"], kind_and_stars(options.get("class", "").split())
        code = "".join(CODE.findall(solutions.get(label, "")))
        minutes = estimate(stars, len(match["text"].split()), len(re.findall(r"^.*\S", code, re.MULTILINE)))
        found.append(Exercise(f"{chapter}.{place}", label, match["title"], kind, stars, minutes))
    return found


def estimate(stars: int, words: int, lines: int) -> int:
    """Estimate how many minutes an exercise takes, by its difficulty, its text, and its solution's code."""
    minutes = words / WORDS_PER_MINUTE + THINKING[stars] + lines * MINUTES_PER_LINE
    return STEP * max(1, round(minutes / STEP))


def all_exercises(chapters: dict[int, Chapter], root: Path) -> dict[int, list[Exercise]]:
    """Return the exercises of each chapter that has any."""
    texts = {n: source_of(root, chapter.name).read_text("utf-8") for n, chapter in chapters.items()}
    return {number: found for number, text in texts.items() if (found := exercises_of(text, number))}


def shown_stars(stars: int) -> str:
    """Return the difficulty as HTML, which screen readers read as a number."""
    return (
        f'<span class="at-stars" role="img" aria-label="difficulty {stars} of {STARS}">{"★" * stars}</span>'
    )


class ExerciseList(TargetTable):
    """`{exercise-list}`: the exercises of each chapter, below its title."""

    required_arguments = 0

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the tables as Markdown."""
        lines = []
        for number, exercises in all_exercises(chapters, root).items():
            chapter = chapters[number]
            source = source_of(root, chapter.name)
            self.env.note_dependency(str(room_of(source)))
            fields = declared_checks(source)
            lines += [
                f"```{{rubric}} [Chapter {number}: {chapter.title}](/{chapter.file}.ipynb)",
                ":heading-level: 3",
                "```",
                "",
                "| | Exercise | Kind | Difficulty | Minutes |",
                "| --- | --- | --- | --- | --- |",
            ]
            for one in exercises:
                title = one.link(chapter, one.title.replace("|", r"\|"))
                title += f' <span class="{MARK}"></span>' if one.label in fields else ""
                kind = one.kind.capitalize()
                lines.append(
                    f"| {one.number} | {title} | {kind} | {shown_stars(one.stars)} | {one.minutes} |"
                )
            lines.append("")
        return "\n".join(lines)


class ExerciseKinds(TargetTable):
    """`{exercise-kinds}`: the numbers of the exercises of each kind, by difficulty."""

    required_arguments = 0

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the table as Markdown."""
        links = defaultdict[tuple[str, int], list[str]](list)
        for number, exercises in all_exercises(chapters, root).items():
            for one in exercises:
                links[one.kind, one.stars].append(one.link(chapters[number], one.number))
        levels = range(1, STARS + 1)
        lines = [f"| Kind | {' | '.join(map(shown_stars, levels))} |", "| --- |" + " --- |" * STARS]
        for kind in KINDS:
            cells = [", ".join(links[kind, stars]) or "–" for stars in levels]
            lines.append(f"| {kind.capitalize()} | {' | '.join(cells)} |")
        return "\n".join(lines)
