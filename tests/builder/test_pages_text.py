"""Pages without cells make true statements about the package, the chapters, and the tests."""

import argparse
import re
from pathlib import Path

import pytest

from annotated_transformer.__main__ import COMMANDS
from annotated_transformer.commands.arguments import add_options
from annotated_transformer.interop.formats import FORMATS, READ
from builder.chapters import written

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = ROOT / "chapters"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(CHAPTERS.glob("*.md"))}
GUIDE = (CHAPTERS / "src" / "train_and_translate.md").read_text("utf-8")
OTHERS = (CHAPTERS / "src" / "bring_weights.md").read_text("utf-8")
SOURCES = {path.stem: path.read_text("utf-8") for path in written(ROOT, "[0-9]*")}
SHAPE = re.compile(r"""\b(?:Float|Int|Bool|Shaped)\[[\w.]+,\s*f?["']([^"']*)["']""")


def axes(code: str) -> set[str]:
    """Return the axis names used in the shapes of a module's signatures."""
    names = [word.lstrip("*#") for shape in SHAPE.findall(code) for word in shape.split()]
    return {name for name in names if re.fullmatch(r"[a-z]\w*", name)}


def rows(page: str, heading: str) -> list[list[str]]:
    section = re.split(r"^## ", page, flags=re.MULTILINE)
    (text,) = [part for part in section if part.startswith(heading + "\n")]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for before, line in zip(["", *lines], lines, strict=False)
        if before and not line.startswith("| ---")
    ]


# Notation.


def test_law_the_names_of_axes_are_those_of_the_signatures():
    package = sorted((ROOT / "annotated_transformer").rglob("*.py"))
    tools = {"cells", "drawing", "exercises", "explorer", "exercises.py"}
    package = [path for path in package if "book" not in path.parts or not tools & {*path.parts}]
    codes = [path.read_text("utf-8") for path in package]
    used = {name for code in codes if "book.drawing" not in code for name in axes(code)}
    listed = [name for names, _ in rows(PAGES["notation"], "Axes") for name in re.findall(r"`(\w+)`", names)]
    assert sorted(listed) == sorted(used)
    assert {"batch", "src_tokens", "rows"} <= used


# The guide.


def parser_of(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(exit_on_error=False)
    for group in COMMANDS[name].GROUPS:
        add_options(parser, group)
    return parser


def options(*commands: str) -> set[str]:
    return {option for name in commands for option in re.findall(r"--[\w-]+", parser_of(name).format_help())}


@pytest.mark.parametrize(
    ("text", "shown"), [(GUIDE, ["download", "train"]), (OTHERS, ["import", "translate"])]
)
def test_law_each_command_that_a_guide_shows_is_one(text: str, shown: list[str]):
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)).replace("\\\n", " ")
    lines = [line.split()[1:] for line in blocks.splitlines() if line.startswith("annotated-transformer ")]
    assert [name for name, *_ in lines] == shown  # the page executes the others
    for name, *arguments in lines:
        assert vars(parser_of(name).parse_args(arguments))


def test_law_the_guide_to_other_libraries_names_the_formats_that_exist():
    for command, option, names in (("import", "from", READ), ("export", "to", FORMATS)):
        assert set(re.findall(rf"`{command} --{option} (\w+)`", OTHERS)) == set(names)


def test_law_each_option_in_the_guides_text_exists_and_each_in_its_table_is_of_train():
    table = GUIDE.split("### More options of `train`")[1].split("\n## ")[0]
    listed = set(re.findall(r"^\| `(--[\w-]+)", table, re.MULTILINE))
    assert len(listed) >= 6
    assert listed <= options("train")
    prose = re.sub(r"^```.*?^```", "", GUIDE, flags=re.MULTILINE | re.DOTALL)
    codes = re.findall(r"`[^`]+`", prose)
    named = {option for code in codes for option in re.findall(r"(?<!\S)--[\w-]+", code[1:])}
    assert {"--input", "--nbest", "--no-split", "--source", "--start"} <= named
    assert named - {"--node-rank", "--nproc-per-node", "--test"} <= options(*COMMANDS)  # not ours
