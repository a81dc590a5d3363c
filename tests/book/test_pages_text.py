"""Pages without cells make true statements about the package, the chapters, and the tests."""

import argparse
import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml

from annotated_transformer.__main__ import COMMANDS
from annotated_transformer.model.attention import attention_weights
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.text.corpus import READERS, load_corpus
from tests.deliberate_bugs import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = ROOT / "chapters"
RESULTS = ROOT / "benchmarks" / "results"
PAGES = {path.stem: path.read_text("utf-8") for path in sorted(CHAPTERS.glob("*.md"))}
GUIDE = (CHAPTERS / "src" / "train_and_translate.md").read_text("utf-8")
PLAN = yaml.safe_load((CHAPTERS / "planned.yml").read_text("utf-8"))
SOURCES = {path.stem: path.read_text("utf-8") for path in sorted((CHAPTERS / "src").glob("[0-9]*.md"))}
SHAPE = re.compile(r"""\b(?:Float|Int|Bool|Shaped)\[[\w.]+,\s*f?["']([^"']*)["']""")
NUMBERS = dict(
    enumerate("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split())
)


def axes(code: str) -> set[str]:
    """Return the axis names used in the shapes of a module's signatures."""
    found = set()
    for shape in SHAPE.findall(code):
        for word in shape.split():
            name = word.lstrip("*#")
            if re.fullmatch(r"[a-z]\w*", name):
                found.add(name)
    return found


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of each row, except headers, of the tables in a section of a page."""
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
    package = [path for path in package if path.parent.name != "book"]
    used = {name for path in package for name in axes(path.read_text("utf-8"))}
    listed = [name for names, _ in rows(PAGES["notation"], "Axes") for name in re.findall(r"`(\w+)`", names)]
    assert sorted(listed) == sorted(used)
    assert {"batch", "src_tokens", "rows"} <= used


def test_law_axes_are_found_in_a_signature():
    code = 'def f(x: Float[Tensor, "*batch #queries d_k"], y: Int[Tensor, " rows"]) -> Bool[Tensor, "{n}"]: .'
    assert axes(code) == {"batch", "queries", "d_k", "rows"}


def test_law_each_symbol_of_the_notation_is_used_in_a_chapter():
    notation, used = PAGES["notation"], "\n".join(SOURCES.values())
    cells = [row[0] for row in rows(notation, "Counts") if "{doc}" in row[-1]]
    for heading in ("Attention, one head", "Attention, several heads"):
        cells += [row[0] for row in rows(notation, heading)]
    symbols = [symbol for cell in cells for symbol in re.findall(r"\$([^$]+)\$", cell)]
    assert len(symbols) >= 15
    plain = re.sub(r"\\(?:Q|K|V)\b", lambda name: name[0][1:], used)  # \Q is a colored Q
    plain = re.sub(r"[{}\s]|\\(?:text|mathrm|color|top)", "", plain)
    for symbol in symbols:
        assert re.sub(r"[{}\s]|\\(?:text|mathrm|color|top)", "", symbol) in plain, symbol


def test_law_weights_are_0_or_1_where_the_notation_says_so():
    scores = torch.tensor([[0.3, -0.5]], dtype=torch.float64)
    key = torch.eye(2, dtype=torch.float64)
    strict = attention_weights(scores, key)
    assert ((0 < strict) & (strict < 1)).all()
    assert attention_weights(scores, key, torch.tensor([[True, False]])).tolist() == [[1.0, 0.0]]
    assert attention_weights(scores, key[:1]).tolist() == [[1.0]]
    assert attention_weights(2000 * scores, key).tolist() == [[1.0, 0.0]]
    assert attention_weights(scores, key, torch.tensor([[False, False]])).tolist() == [[0.0, 0.0]]


@pytest.mark.message
def test_message_masks_of_two_or_four_dimensions_are_accepted_and_of_three_refused():
    layer, x = MultiHeadAttention(d_model=6, num_heads=2), torch.zeros(5, 3, 6)
    mask = torch.ones(3, 3, dtype=torch.bool)
    assert layer(x, x, x, mask).shape == layer(x, x, x, mask[None, None]).shape == x.shape
    with pytest.raises(ValueError, match="batch or heads"):
        layer(x, x, x, mask[None])


# The preface and the reference.


def test_law_the_preface_lists_the_planned_chapters_with_their_questions():
    listed = []
    for part, table in re.findall(
        r"^\| (Part [^|]+) \|.*\n\| --- .*\n((?:\|.*\n)+)", PAGES["preface"], re.MULTILINE
    ):
        for line in table.splitlines():
            number, title, file, question = re.fullmatch(
                r"\| (\d+)\. (?:\{doc\}`)?([^<`|]+?)(?: <(\w+)>`)? \| (.+) \|", line
            ).groups()
            listed.append((int(number), part, title, file and f"chapters/{file}", question))
    assert listed == [(c["number"], c["part"], c["title"], c.get("file"), c["question"]) for c in PLAN]


def test_law_the_preface_counts_the_chapters():
    count = re.search(r"([\w-]+) chapters are planned, and (\w+) are finished", PAGES["preface"])
    assert count[1] == "Twenty-two"
    assert len(PLAN) == 22
    assert count[2] == NUMBERS[len(SOURCES)]


def test_law_a_chapter_takes_about_half_an_hour():
    times = [
        int(re.search(r"^\*Reading: (\d+) minutes", source, re.MULTILINE)[1]) for source in SOURCES.values()
    ]
    assert "about\nhalf an hour to read" in PAGES["preface"]
    assert all(20 <= minutes <= 45 for minutes in times)


def test_law_the_preface_names_the_licenses_of_the_vendored_software():
    question = "**Which third-party software do these pages include?** "
    words = PAGES["preface"].split(question)[1].split("\n\n")[0]
    vendored = yaml.safe_load((ROOT / "annotated_transformer" / "book" / "vendored.json").read_text("utf-8"))
    assert vendored
    for name, about in vendored.items():
        assert name.split("-")[0].lower() in words.lower(), name
        license = about["license"].split()[0]
        spoken = {"Apache-2.0": "Apache License 2.0", "OFL-1.1": "SIL Open Font License 1.1", "MIT": "MIT"}
        assert spoken[license] in words, license
    static = ROOT / "annotated_transformer" / "book" / "static"
    rules = re.findall(r"@font-face \{[^}]*\}", (static / "book.css").read_text("utf-8"))
    fonts = {re.search(r'font-family: "(.+?)"', rule)[1] for rule in rules if 'url("fonts/' in rule}
    assert fonts <= set(re.findall(r"Source \w+(?: \w+)?(?= and| \()", " ".join(words.split())))
    assert "SIL Open Font License" in (static / "fonts" / "OFL.txt").read_text("utf-8") or not fonts


REFERENCE = {  # the preface's words for what is compared; the test's file and name prefix
    "Attention,": ("attention", "attention_matches_pytorch"),
    "multi-head attention": ("multi_head_attention", "multi_head_matches_pytorch"),
    "layer normalization": ("normalization", "layer_norm_matches_pytorch"),
    "the encoder": ("encoder", "the_stack_matches_pytorch"),
    "the decoder": ("decoder", "the_stack_matches_pytorch"),
    "both of them joined": ("transformer", "the_stacks_match_pytorchs_transformer"),
    "additive attention": ("attention", "additive_attention_matches_a_loop"),
}


@pytest.mark.parametrize("word", REFERENCE)
def test_law_the_comparisons_named_in_the_preface_include_gradients(word: str):
    (item,) = re.findall(r"\*\*PyTorch is the reference\.\*\*(.+?)(?=\n- )", PAGES["preface"], re.DOTALL)
    item = " ".join(item.split())
    assert word in item
    file, name = REFERENCE[word]
    code = (ROOT / "tests" / "model" / f"test_{file}.py").read_text("utf-8")
    tests = [node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    (found,) = [node for node in tests if node.name.startswith(f"test_oracle_{name}")]
    assert "assert_same" in ast.unparse(found), "assert_same compares the gradients"


def test_law_there_are_as_many_deliberate_bugs_as_the_preface_says():
    (least,) = re.findall(r"More than (\d+) deliberate bugs", PAGES["preface"])
    assert int(least) < len(MUTANTS)


def test_law_the_reference_links_the_chapters_that_explain_a_module():
    page = (CHAPTERS / "api" / "model.md").read_text("utf-8")
    links = re.findall(r"\{doc\}`[^`]*<\.\./(\w+)>`", page)
    assert sorted(links) == sorted(SOURCES)
    modules = {
        "01_why_attention": "copy_task",
        "05_multi_head_attention": "multi_head_attention",
        "06_masking": "masks",
        "07_embeddings": "embeddings",
        "08_positional_encoding": "positional_encoding",
        "09_add_and_norm": "normalization",
        "10_feed_forward": "feed_forward",
        "11_encoder": "encoder",
        "12_cross_attention": "decoder",
        "13_decoder": "decoder",
        "14_transformer": "transformer",
    }
    for link in links:
        assert f"annotated_transformer.model.{modules.get(link, 'attention')} import" in SOURCES[link]


# Continuous integration.


def test_law_the_statements_about_require_all_are_true():
    sets = {
        path.name: re.findall(r"^[^#\n]*\bREQUIRE_ALL *[?:]?= *(\S+)", path.read_text("utf-8"), re.MULTILINE)
        for path in [ROOT / ".ci" / "run", ROOT / "Makefile"]
    }
    assert sets == {"run": ["1"], "Makefile": ["but-corpora,notes"]}
    quarantines = " ".join((ROOT / "tests" / "QUARANTINES.md").read_text("utf-8").split())
    assert "With `REQUIRE_ALL=1`, which `.ci/run` sets, every skip is a failure." in quarantines
    assert "Make sets `REQUIRE_ALL=but-corpora,notes` unless it is set already" in quarantines
    contributing = " ".join((ROOT / "CONTRIBUTING.md").read_text("utf-8").split())
    assert "With `REQUIRE_ALL=1`, as `.ci/run` sets it, skips are failures." in contributing


def test_law_contributing_lists_the_stages():
    stages = re.search(r"^STAGES := (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)[1].split()
    table = re.findall(r"^\| (`[^|]+`) \|", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    assert [name for cell in table for name in re.findall(r"`([\w-]+)`", cell)] == stages


# The guide.


def test_law_the_guide_says_which_corpora_are_split_by_sentence(tmp_path: Path):
    sentence = re.search(r"^`(\w+)` and `(\w+)` are split so that", GUIDE, re.MULTILINE)
    split = {name for name in READERS if "split_by_sentence(" in inspect.getsource(READERS[name])}
    assert set(sentence.groups()) == split - {"files"}
    assert "`multi30k` keeps its published splits, and `files` keeps yours" in GUIDE
    for language, word in (("en", "house"), ("de", "Haus")):
        (tmp_path / f"train.{language}").write_text(f"{word}\n{word} 2\n", encoding="utf-8")
    assert "If there are only `train` files, they are split like `toy`." in GUIDE
    assert "split_by_sentence(" in inspect.getsource(READERS["files"])
    assert set(load_corpus("files", folder=tmp_path).splits) == {"train"}  # too few pairs to split
    assert set(READERS) == set(re.findall(r"^\| `(\w+)` \|.*\|$", GUIDE.split("## Choose")[1], re.MULTILINE))


def test_law_each_train_option_in_the_guides_table_exists():
    table = GUIDE.split("### More options of `train`")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `(--[\w-]+)", table, re.MULTILINE))
    run = [sys.executable, "-m", "annotated_transformer", "train", "--help"]
    shown = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert len(named) >= 6
    assert named <= set(re.findall(r"--[\w-]+", shown))


def test_law_each_command_that_the_guide_shows_is_one():
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)).replace("\\\n", " ")
    lines = [line.split()[1:] for line in blocks.splitlines() if line.startswith("annotated-transformer ")]
    assert [name for name, *_ in lines] == ["download", "train"]  # the page executes the others
    for name, *arguments in lines:
        parser = argparse.ArgumentParser(exit_on_error=False)
        COMMANDS[name].add_options(parser)
        assert vars(parser.parse_args(arguments))


def test_law_each_option_in_the_guides_text_exists():
    known = set()
    for command in COMMANDS.values():
        parser = argparse.ArgumentParser()
        command.add_options(parser)
        known |= set(re.findall(r"--[\w-]+", parser.format_help()))
    prose = re.sub(r"^```.*?^```", "", GUIDE, flags=re.MULTILINE | re.DOTALL)
    named = {
        option
        for code in re.findall(r"`[^`]+`", prose)
        for option in re.findall(r"(?<!\S)--[\w-]+", code[1:])
    }
    assert {"--input", "--nbest", "--no-split", "--source", "--start"} <= named
    assert named - {"--nproc-per-node", "--test"} <= known  # options of torchrun and of a benchmark


def test_law_the_benchmark_table_labels_differences_in_training_data():
    head = 'published: real pairs only "\n    "| ours: with pretraining and synthetic pairs'
    assert head in GUIDE
    for word in ("and below it on", "The published model was trained on the 29,000 real pairs only"):
        assert word in GUIDE.replace('"\n    f"', "").replace("\n", " ")


def test_law_the_benchmark_runs_used_the_allocator_that_the_guide_names():
    assert "LD_PRELOAD=libjemalloc.so.2" in GUIDE
    assert "The Multi30k runs above used it." in GUIDE
    records = [json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob("multi30k_seed*.json"))]
    assert records
    assert all(record["machine"]["preloaded"] == ["libjemalloc.so.2"] for record in records)
