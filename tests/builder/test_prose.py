"""Automatic checks of the prose: terms of later chapters, typed numbers, and absolute words."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

from builder.chapters import written
from builder.lint import absolutes, early_terms, numbers
from builder.lint.source import parse_file, parse_source, sentences

ROOT = Path(__file__).resolve().parents[2]
SOURCES = written(ROOT)
PAGES = [*sorted((ROOT / "chapters").glob("*.md")), ROOT / "index.md", ROOT / "README.md"]
HEADER = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
terms: {query: A vector.}
---

"""


def chapter(text, name="03_here.md"):
    return parse_source(HEADER + text, name)


def cells(path):
    return json.loads((ROOT / "chapters" / f"{path.stem}.ipynb").read_text("utf-8"))["cells"]


# Terms.


@pytest.fixture(scope="module")
def homes():
    """Return where each term belongs, read from all chapters once."""
    return early_terms.homes(ROOT)


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=lambda path: path.stem)
def test_law_later_terms_are_marked_measured_numbers_printed_and_large_numbers_grouped(path, homes):
    page = parse_file(path)
    assert numbers.ungrouped(page) == []
    if path in SOURCES:
        assert early_terms.lint(page, homes) == []
        assert numbers.lint(page, cells(path)) == []


HOMES = {
    "query": early_terms.Home(3, "03_here"),
    "encoder": early_terms.Home(11, ""),
    "self attention": early_terms.Home(4, ""),
    "attention": early_terms.Home(3, "03_here"),
    "vocabulary": early_terms.Home(7, ""),
    "loss": early_terms.Home(16, ""),
    "cross entropy": early_terms.Home(2, ""),
    "entropy": early_terms.Home(19, ""),
    "head": early_terms.Home(5, "05_heads"),
}


def ahead(text, name="03_here.md"):
    return [use.term for use in early_terms.uses(chapter(text, name), HOMES) if not use.marked]


def test_law_a_later_term_is_found_in_prose_only():
    for text, found in (
        ("Encoders read, and so does the vocabulary's index. An encoder writes.", ["encoder", "vocabulary"]),
        ("Self-attention is self attention.", ["self attention"]),
        ("Encoder–decoder, encoder-decoder.", ["encoder"]),
        ("Cross-entropy", []),  # a term of an earlier chapter
        ("Entropy", ["entropy"]),
        ("A query asks by attention.", []),  # its own terms
        ("`encoder`, $encoder$, [x](encoder.html), https://encoder.org", []),
        ("```sh\nencoder\n```\n\n```{code-cell} ipython3\nencoder = 1\n```", []),
        ("```{note} Look\nThe encoder.\n```", ["encoder"]),
        ("| a |\n| - |\n| encoder |", ["encoder"]),
        ('+++ {"tags": ["remove-cell"]}\n\nThe encoder.\n\n+++\n\nText.', []),
    ):
        assert ahead(text) == found, text


def test_law_one_mark_at_the_first_use_is_enough_unless_it_comes_late_or_is_another_one():
    assert ahead("The head.") == ["head"]
    for text in (
        "A *head*, which reads the source, comes later. The head reads.",
        "The head and the encoder <!-- ahead: encoder, head -->",
        "Each head is explained in {doc}`05_heads`.",
        "Each head is explained [later](05_heads.ipynb).",
    ):
        assert "head" not in ahead(f"{text}\n\nAnd again: the head."), text
    for text in (
        "An encoder reads. An *encoder* reads.",
        "An encoder reads.\n\nThe table <!-- ahead: encoder -->",
        "An encoder <!-- ahead: decoder -->",
        "Each encoder is explained in {doc}`05_heads`.",
        "*Reading this long line about the encoder takes some minutes of your time.*",
    ):
        assert "encoder" in ahead(text), text


def test_law_a_guide_and_a_later_chapter_may_use_the_term():
    found = {name: ahead("The encoder.", f"{name}.md") for name in ("guide", "11_there", "10_there")}
    assert found == {"guide": [], "11_there": [], "10_there": ["encoder"]}


def test_law_the_plan_and_the_front_matters_say_where_a_term_belongs(homes):
    assert homes["query"] == early_terms.Home(2, "02_queries_keys_values")
    assert homes["rmsnorm"] == early_terms.Home(22, "22_from_here_to_modern_models")
    assert homes["cross entropy"].number == 16


@pytest.mark.message
def test_message_two_chapters_introduce_one_term(tmp_path):
    (tmp_path / "chapters" / "src").mkdir(parents=True)
    for number, term in enumerate(("mask", "Mask"), start=1):
        head = f"title: A\npart: P\nquestion: Q?\nterms: [{term}]\nplanned: true"
        (tmp_path / "chapters" / "src" / f"0{number}_a.md").write_text(f"---\n{head}\n---\n", "utf-8")
    with pytest.raises(ValueError, match="chapters 1 and 2 both introduce 'Mask'"):
        early_terms.homes(tmp_path)


# Numbers.


def test_law_a_number_with_two_digits_looks_measured_and_a_constant_does_not():
    found, constants = (
        "0.67 41.5 44% 12\\% 3.4e38 0.330 1,234.5",
        "0.1 1.5 0.25 0.02 0.125 1e-9 50% 100% 7 65,536",
    )
    assert [number for number in f"{found} {constants}".split() if numbers.measured(number)] == found.split()
    assert numbers.measured("44 %")
    assert not numbers.measured("50 %")


OUTPUT = {"data": {"text/plain": ["tensor([[0.6652, 0.0900]])"], "text/markdown": "**41.357**, 12,345.67"}}
STREAM = {"text": "share 0.4712\n"}
FIGURE = {"data": {"text/plain": "Falls from 9.87 to 0.3141", "text/html": "<figure>"}}
CELLS = [
    {"source": "x = 1", "outputs": [OUTPUT, STREAM]},
    {"source": 'show_figure("3.1", fig, x=x)', "outputs": [FIGURE]},
    {"source": "no outputs"},
]


def typed(text):
    page = chapter(text)._replace(captions=["Falls from 9.87 to "])
    complaints = [line for line in numbers.lint(page, CELLS) if not line.endswith(": Falls from 9.87 to")]
    return [line.split(": ")[1].split(" is typed")[0] for line in complaints]


CODE = "```{{code-cell}} ipython3\n{}\n```"
TYPED = [
    ("The weight is 0.67, and 0.665, and $0.6652$.", []),
    ("It has 12,345.7 in all, or 12,345.6.", ["12,345.6"]),
    ("It is 47 % of it, $47\\%$, or 48 %.", ["48 %"]),
    ("It falls to 0.314.", []),  # computed by the figure's cell
    ("It falls from 9.87.", ["9.87"]),  # typed in both places
    ("The paper has 25.81.\n\n> We have 25.81.", []),
    ("The paper says so. We have 25.81.", ["25.81"]),
    ("From the paper:\n\n| h | BLEU |\n| --- | --- |\n| 8 | 25.81 |", []),
    ("From us:\n\n| h | BLEU |\n| --- | --- |\n| 8 | 25.81 |", ["25.81"]),
    ("The largest is 3.4e38 <!-- typed: 3.4e38 -->", ["3.4e38"]),  # reads as 3.4
    ("The largest is 65.504 <!-- typed: 65.503 -->", ["65.504"]),
    ("See section 3.21, figure 3.12, table 5.55 and Python 3.11.", []),
    ("`0.77` and [x](https://x.org/0.77), and 10^{-9.77}.", []),
    (f"{CODE.format('beta = 0.98')}\n\nBeta is 0.98.", []),
    (CODE.format(":tags: [solution]\n\nbeta = 0.98") + "\n\nBeta is 0.98.", ["0.98"]),
]


def test_law_a_number_that_is_neither_printed_nor_quoted_is_named():
    for text, found in TYPED:
        assert typed(text) == found, text


# Commas.


UNGROUPED = [
    ("1234567, -60000, −60000, 60000.5 (70000), 8–90000.", ["1234567", *["60000"] * 3, "70000", "90000"]),
    ("10 000 keys and 37\u202f000 more", ["10 000", "37\u202f000"]),
    ("1706.03762, 3.14159, 0.10000, float32, 12345th, a12345", []),
    ("arXiv 12345, id 50256, ids 50256, 50257 and 50258, seed 12345, issue #12345, #12345", []),
    ("$10000$ and `10000` and [x](https://x.org/10000) <!-- 10000 -->", []),
    ("| a |\n| - |\n| 10000 |", ["10000"]),
    (CODE.format('claim("10000 keys", 30000, equals=30000)'), ["10000"]),
    (CODE.format('say("10000 keys")'), ["10000"]),
]


def test_law_a_number_typed_into_a_caption_is_named_unless_a_cell_prints_it():
    page = chapter("Words.")._replace(captions=["It is 0.78 high, and 0.6652 wide, of ", " or 10000."])
    (complaint,) = numbers.lint(page, CELLS)
    assert complaint.startswith("line 1: 0.78 is typed")
    assert numbers.ungrouped(page) == ["line 1: 10000 has no commas"]


def test_law_a_large_number_without_commas_is_named_with_its_line_and_found_in_terms_too():
    for text, found in UNGROUPED:
        complaints = [line.partition(": ")[2] for line in numbers.ungrouped(chapter(text))]
        assert complaints == [f"{number} has no commas" for number in found], text
    assert numbers.ungrouped(chapter("Few.\nBut 10000 keys.")) == ["line 7: 10000 has no commas"]
    header = HEADER.replace("A vector.", "One of 10000 vectors.")
    assert numbers.ungrouped(parse_source(header, "03_here.md")) == ["line 1: 10000 has no commas"]


# Absolute words.


def test_law_an_absolute_word_without_a_claim_nearby_is_listed_with_its_line():
    text = "Few words.\nBut every word counts. Not here.\n\n`all` and $all$\n"
    (debt,) = absolutes.debts(chapter(text))
    assert (debt.words, debt.line, debt.sentence) == (("every",), 7, "But every word counts.")
    claim = CODE.format('claim("x", 1, name="x", below=2)')
    for near in (f"Every word.\n\n{claim}", f"{claim}\n\nEvery word.", "All [✓](#claim-x).", "> All."):
        assert list(absolutes.debts(chapter(near))) == []
    far = f"Every word.\n\n{CODE.format('x = 1')}\n\nText.\n\n{claim}"
    assert len(list(absolutes.debts(chapter(far)))) == 1


def test_law_a_paragraph_falls_into_its_sentences():
    text = 'One is 0.5 high. *Two* ends: "Three!" Four, e.g. five.'
    assert "".join(sentence for sentence, _ in sentences(text)) == text
    assert [text[start:].split()[0] for _, start in sentences(text)] == ["One", "*Two*", '"Three!"', "Four,"]


def test_law_the_command_lists_absolute_words_looks_ahead_and_typed_numbers(monkeypatch, capsys):
    def run(name):
        monkeypatch.setattr(sys, "argv", ["lint_prose.py", name])
        runpy.run_module("builder.lint_prose", run_name="__main__")
        return capsys.readouterr().out

    listed = run("03_scaled_dot_product_attention")
    assert re.search(r"^  03_scaled_dot_product_attention\.md:\d+: (all|only|every)", listed, re.MULTILINE)
    assert "look ahead at" in listed
    assert "(printed)" in listed
    with pytest.raises(SystemExit, match="no chapter is called x; there are 0"):
        run("x")
