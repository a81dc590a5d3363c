"""Files with pairs of a sentence and its translation: two aligned text files, or a table."""

from dataclasses import dataclass
from pathlib import Path

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.text.lines import CONVERT, list_problems, read_lines, read_lines_and_problems
from annotated_transformer.whole_numbers import whole_number

Problem = tuple[str, str]  # what is wrong with a line, and the way out


@refuses_other_kinds
@dataclass(frozen=True)
class TwoFiles:
    """Two text files, plain or compressed by gzip; line i of `target` translates line i of `source`.

    Attributes:
        source: The file with the sentences to translate.
        target: The file with their translations.
    """

    source: Path
    target: Path

    def read(self) -> list[tuple[str, str]]:
        """Return the pairs, without white space around the sentences."""
        (src, bad_src), (tgt, bad_tgt) = map(_read_sentences, (self.source, self.target))
        problems = bad_src + bad_tgt
        if len(src) != len(tgt):
            unequal = f"{self.source} has {len(src)} lines and {self._target_name} has {len(tgt)}"
            way_out = problems[0][1] if problems else "align the two files"
            problems.append((f"{unequal}; line i of one must translate line i of the other", way_out))
        _refuse(problems)
        return list(zip(src, tgt, strict=True))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read."""
        return self.source, self.target

    def reversed(self) -> "TwoFiles":
        """Return the same files with source and target exchanged."""
        return TwoFiles(self.target, self.source)

    def locate(self, pair: tuple[str, str]) -> str | None:
        """Return the line of a pair in words, or None if it is not in these files."""
        lines = zip(read_lines(self.source), read_lines(self.target), strict=False)
        for number, (source, target) in enumerate(lines, start=1):
            if (source.strip(), target.strip()) == pair:
                return f"{self.source} and {self._target_name}, line {number}"
        return None

    @property
    def _target_name(self) -> str:
        return self.target.name if self.target.parent == self.source.parent else str(self.target)


@refuses_other_kinds
@dataclass(frozen=True)
class Table:
    """A table: a text file, plain or compressed by gzip, with tabs between its columns (TSV).

    Quotation marks have no special meaning.

    Attributes:
        file: The file.
        columns: The column of the source and that of the target: numbers that count from 1, or the names
            of columns, which the first line then contains.
    """

    file: Path
    columns: tuple[int | str, int | str] = (1, 2)

    def __post_init__(self) -> None:
        self._refuse_equal(*self.columns)
        if any(number is not None and number < 1 for number in map(whole_number, self.columns)):
            raise ValueError(
                f"columns={self.columns}: columns are counted from 1; give the two numbers, or two names"
            )

    def read(self) -> list[tuple[str, str]]:
        """Return the pairs, without white space around the sentences."""
        lines, undecoded = read_lines_and_problems(self.file)
        problems: list[Problem] = []
        pairs: list[tuple[str, str]] = []
        for number, (source, target) in self._cells(lines):
            if number in undecoded:
                problems.append((undecoded[number], CONVERT))
            elif source is None or target is None:
                columns = lines[number - 1].count("\t") + 1
                problem = f"{self.file}, line {number} has {columns} column{'s' * (columns > 1)}"
                problems.append((problem, "separate the columns by tabs, or give other columns"))
            elif not (source and target):
                problems.append((f"{self.file}, line {number} has an empty sentence", "remove such lines"))
            else:
                pairs.append((source, target))
        _refuse(problems)
        if not pairs:
            raise ValueError(f"{self.file} has only a line with the names of columns; give pairs below it")
        return pairs

    @property
    def files(self) -> tuple[Path, ...]:
        """The file that is read."""
        return (self.file,)

    def reversed(self) -> "Table":
        """Return the same table with source and target exchanged."""
        source, target = self.columns
        return Table(self.file, (target, source))

    def locate(self, pair: tuple[str, str]) -> str | None:
        """Return the line of a pair in words, or None if it is not in this table."""
        cells = self._cells(read_lines(self.file))
        return next((f"{self.file}, line {number}" for number, sentences in cells if sentences == pair), None)

    def _cells(self, lines: list[str]) -> list[tuple[int, tuple[str | None, str | None]]]:
        """Return the number of each line, and its two sentences; None stands for a missing column."""
        rows = [[cell.strip() for cell in line.split("\t")] for line in lines]
        named = any(isinstance(column, str) for column in self.columns)
        first, second = (self._place(column, rows[0]) for column in self.columns)
        self._refuse_equal(first, second)
        return [
            (number, (_get(row, first), _get(row, second)))
            for number, row in enumerate(rows, start=1)
            if number > 1 or not named
        ]

    def _place(self, column: int | str, names: list[str]) -> int:
        if (number := whole_number(column)) is not None:
            return number - 1
        if (count := names.count(str(column))) != 1:
            which = f"{count} columns" if count else "no column"
            raise ValueError(
                f"the first line of {self.file} names {which} {column!r} (it has {', '.join(names)}); "
                "give other columns, such as 1,2"
            )
        return names.index(str(column))

    def _refuse_equal(self, first: int | str, second: int | str) -> None:
        if first == second:
            raise ValueError(f"columns={self.columns}: source and target would be the same column; give two")


PairFiles = TwoFiles | Table


def _get(row: list[str], place: int) -> str | None:
    return row[place] if place < len(row) else None


def _refuse(problems: list[Problem]) -> None:
    """Raise an error with all problems and each way out, if there are any problems."""
    if problems:
        ways_out = dict.fromkeys(way_out for _, way_out in problems)
        raise ValueError(list_problems((problem for problem, _ in problems), ", and ".join(ways_out)))


def _read_sentences(path: Path) -> tuple[list[str], list[Problem]]:
    """Return the sentences of a file, and its bad lines."""
    lines, undecoded = read_lines_and_problems(path)
    tabs = sum("\t" in line.strip() for line in lines)
    if 2 * tabs > len(lines):
        raise ValueError(
            f"{path} has tabs in {tabs} of {len(lines)} lines, as tables have between columns; give a file "
            f"with the sentences of one language only"
        )
    sentences = [line.strip() for line in lines]
    problems = {number: (problem, CONVERT) for number, problem in undecoded.items()}
    for number, sentence in enumerate(sentences, start=1):
        if not sentence:
            problems[number] = f"{path}, line {number} is empty", "remove empty lines from both files"
    return sentences, [problems[number] for number in sorted(problems)]
