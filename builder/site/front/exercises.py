"""Tables of all exercises: `{exercise-list}` by chapter, `{exercise-kinds}` by kind and difficulty.

They are read from the chapters' sources.
"""

from collections import defaultdict

from builder.chapters import Chapter
from builder.site.fields import MARK, declared_checks, room_of
from builder.site.front.targets import TargetTable
from builder.site.rendering.numbers import stars
from builder.source import KINDS, STARS, Exercise, read

THINKING = (0, 5, 15, 30)  # minutes, by stars
WORDS_PER_MINUTE, MINUTES_PER_LINE, STEP = 200, 1, 5


def minutes(exercise: Exercise) -> int:
    """Estimate how many minutes an exercise takes, by its difficulty, its text, and its solution's code."""
    words = len(exercise.text.split())
    lines = sum(bool(line.strip()) for line in exercise.solution.splitlines())
    time = words / WORDS_PER_MINUTE + THINKING[exercise.stars] + lines * MINUTES_PER_LINE
    return STEP * max(1, round(time / STEP))


def exercise_link(exercise: Exercise, chapter: Chapter, text: str) -> str:
    """Return a link to an exercise, as Markdown."""
    return f"[{text}](/{chapter.file}.ipynb#{exercise.label})"


class ExerciseList(TargetTable):
    """`{exercise-list}`: the exercises of each chapter, below its title."""

    def text(self, chapters: dict[int, Chapter]) -> str:
        """Return the tables as Markdown."""
        lines = []
        for number, chapter in chapters.items():
            self.env.note_dependency(str(room_of(chapter.path)))
            fields, exercises = declared_checks(chapter.path), read(chapter.path).exercises
            lines += [
                f"```{{rubric}} [Chapter {number}: {chapter.title}](/{chapter.file}.ipynb)",
                ":heading-level: 3",
                "```",
                "",
                "| | Exercise | Kind | Difficulty | Minutes |",
                "| --- | --- | --- | --- | --- |",
            ]
            for one in exercises:
                title = exercise_link(one, chapter, one.title.replace("|", r"\|"))
                title += f' <span class="{MARK}"></span>' if one.label in fields else ""
                cells = one.number, title, one.kind.capitalize(), stars(one.stars), str(minutes(one))
                lines.append(f"| {' | '.join(cells)} |")
            lines.append("")
        return "\n".join(lines)


class ExerciseKinds(TargetTable):
    """`{exercise-kinds}`: the numbers of the exercises of each kind, by difficulty."""

    def text(self, chapters: dict[int, Chapter]) -> str:
        """Return the table as Markdown."""
        links = defaultdict[tuple[str, int], list[str]](list)
        for chapter in chapters.values():
            for one in read(chapter.path).exercises:
                links[one.kind, one.stars].append(exercise_link(one, chapter, one.number))
        levels = range(1, STARS + 1)
        lines = [f"| Kind | {' | '.join(map(stars, levels))} |", "| --- |" + " --- |" * STARS]
        for kind in KINDS:
            cells = [", ".join(links[kind, level]) or "–" for level in levels]
            lines.append(f"| {kind.capitalize()} | {' | '.join(cells)} |")
        return "\n".join(lines)
