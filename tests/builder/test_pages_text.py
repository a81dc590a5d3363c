"""Pages without cells make true statements about the package, the chapters, and the tests."""

import argparse
import inspect
import json
import re
import tempfile
from pathlib import Path

import jupytext
import pytest
import yaml

from annotated_transformer.book.results import RESULTS
from annotated_transformer.commands.arguments import add_options
from annotated_transformer.commands.table import COMMANDS
from annotated_transformer.interop.formats import READ, WRITTEN
from annotated_transformer.text import corpus
from annotated_transformer.text.corpus import CORPORA, load_corpus
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


def test_law_each_symbol_of_the_notation_is_used_in_a_chapter():
    notation, used = PAGES["notation"], "\n".join(SOURCES.values())
    cells = [row[0] for row in rows(notation, "Counts") if "{doc}" in row[-1]]
    for heading in ("Attention, one head", "Attention, several heads"):
        cells += [row[0] for row in rows(notation, heading)]
    symbols = [symbol for cell in cells for symbol in re.findall(r"\$([^$]+)\$", cell)]
    assert len(symbols) >= 15
    noise = r"[{}\s]|\\(?:text|mathrm|color|top)"
    plain = re.sub(noise, "", re.sub(r"\\(?:Q|K|V)\b", lambda name: name[0][1:], used))  # \Q is a colored Q
    assert [symbol for symbol in symbols if re.sub(noise, "", symbol) not in plain] == []


# The preface and the reference.


def test_law_the_preface_names_the_licenses_of_the_vendored_software():
    question = "**Which third-party software do these pages include?** "
    words = PAGES["preface"].split(question)[1].split("\n\n")[0]
    vendored = yaml.safe_load((ROOT / "builder/site/vendored.json").read_text("utf-8"))
    assert vendored
    for name, about in vendored.items():
        assert name.split("-")[0].lower() in words.lower(), name
        license = about["license"].split()[0]
        spoken = {"Apache-2.0": "Apache License 2.0", "OFL-1.1": "SIL Open Font License 1.1", "MIT": "MIT"}
        assert spoken[license] in words, license
    static = ROOT / "builder" / "site" / "static"
    rules = re.findall(r"@font-face \{[^}]*\}", (static / "book.css").read_text("utf-8"))
    fonts = {re.search(r'font-family: "(.+?)"', rule)[1] for rule in rules if 'url("fonts/' in rule}
    assert fonts <= set(re.findall(r"Source \w+(?: \w+)?(?=,| \()", " ".join(words.split())))
    assert "SIL Open Font License" in (static / "fonts" / "OFL.txt").read_text("utf-8") or not fonts


# The guide.


def test_law_the_guide_says_which_corpora_are_split_by_sentence(tmp_path: Path):
    sentence = re.search(r"^`(\w+)` and `(\w+)` are split so that", GUIDE, re.MULTILINE)
    split = {name for name in CORPORA if "split_by_sentence(" in inspect.getsource(CORPORA[name].read)}
    assert set(sentence.groups()) == split - {"files"}
    assert "`multi30k` keeps its published splits, and `files` keeps yours" in GUIDE
    for language, word in (("en", "house"), ("de", "Haus")):
        (tmp_path / f"train.{language}").write_text(f"{word}\n{word} 2\n", encoding="utf-8")
    assert "If there are only `train` files, they are split like `toy`." in GUIDE
    assert "split_by_sentence(" in inspect.getsource(corpus._read_own)
    assert set(load_corpus("files", folder=tmp_path).splits) == {"train"}  # too few pairs to split
    assert set(CORPORA) == set(re.findall(r"^\| `(\w+)` \|.*\|$", GUIDE.split("## Choose")[1], re.MULTILINE))


def parser_of(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(exit_on_error=False)
    for group in COMMANDS[name].groups:
        add_options(parser, group)
    return parser


def options(*commands: str) -> set[str]:
    return {option for name in commands for option in re.findall(r"--[\w-]+", parser_of(name).format_help())}


def test_law_the_guides_tables_of_results_need_no_file_of_the_book(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cells = [cell.source for cell in jupytext.reads(GUIDE, fmt="md:myst").cells if cell.cell_type == "code"]
    assert [cell for cell in cells if '".."' in cell or "../" in cell] == []
    names: dict[str, object] = {}
    for cell in cells[:2]:  # imports
        exec(cell, names)
    shown: list[str] = []
    names["say"] = shown.append
    for cell in cells[2:]:
        if "say(" in cell and ("RESULTS" in cell or "read_result" in cell):
            exec(cell, names)
    assert len(shown) == 5
    assert all("| --" in text for text in shown)


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
    for command, option, names in (("import", "from", READ), ("export", "to", WRITTEN)):
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


def test_law_the_benchmark_runs_used_the_allocator_that_the_guide_names():
    assert "LD_PRELOAD=libjemalloc.so.2" in GUIDE
    assert "The Multi30k runs above used it." in GUIDE
    records = [json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob("multi30k_seed*.json"))]
    assert records
    assert all(record["machine"]["preloaded"] == ["libjemalloc.so.2"] for record in records)
