"""Rendered pages have the required metadata, working links, and legible colors."""

import functools
import html as html_module
import io
import pkgutil
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock
from urllib.parse import unquote, urljoin, urlparse

import lxml.html
import pytest
from docutils import nodes
from docutils.utils import new_document
from fontTools.ttLib import TTFont
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_subtitle, exercise_title

import annotated_transformer
from annotated_transformer.plotting import palette
from builder.site.rendering import docstrings, fonts, formulas, head, numbers, questions, themes
from tests.colors import contrast, variables
from tests.explorer_pages import DOCUMENTS, HTML, ROOT

PAGES = ["search", "genindex", "py-modindex", *DOCUMENTS]
SITE = "https://the.book/"
APP = Mock(spec=Sphinx)


# The API reference.

# Rooms have a directive; `python -m` is documented by its --help.
WITHOUT_REFERENCE = re.compile(
    r"annotated_transformer\.book\.(chapters\.[\w.]+|grading|explorer\.(?!figure)\w+)"
)


def test_law_every_module_has_its_reference_and_nothing_else_has():
    found = pkgutil.walk_packages(annotated_transformer.__path__, "annotated_transformer.")
    names = {module.name for module in found if not module.ispkg}
    pages = "\n".join(page.read_text("utf-8") for page in (ROOT / "chapters" / "api").glob("*.md"))
    documented = re.findall(r"automodule:: (\S+)", pages)
    assert sorted(documented) == sorted(name for name in names if not WITHOUT_REFERENCE.fullmatch(name))


@pytest.mark.page
def test_law_the_reference_has_each_check_of_the_rooms():
    paths = (ROOT / "annotated_transformer").glob("book/chapters/*/exercises.py")
    checks = {
        ".".join([*path.relative_to(ROOT).with_suffix("").parts, name])
        for path in paths
        for name in re.findall(r"^def (check_\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
    assert len(checks) > 100
    assert checks - set(seen("chapters/api/book")["id"]) == set()


def test_law_every_page_that_is_written_is_in_the_table_of_contents():
    patterns = ("index.md", "explorer.md", "chapters/*.md", "chapters/*.ipynb", "chapters/api/*.md")
    written = [path for pattern in patterns for path in ROOT.glob(pattern)]
    assert sorted(str(path.relative_to(ROOT).with_suffix("")) for path in written) == sorted(DOCUMENTS)


# Colors.


def test_law_contrast_is_computed_as_wcag_defines_it():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#777777") == pytest.approx(4.48, abs=0.01)  # known to fall just short of 4.5


def test_law_text_and_shapes_have_enough_contrast():
    roles = {f"--at-{role}" for role in ("query", "key", "value", "output")}
    words = {"--at-ink", "--at-muted", "--at-link", *(f"{role}-text" for role in roles)}
    for theme in ("light", "dark"):
        colors = variables(theme)
        for ground in ("--at-paper", "--at-card"):
            for word in words:
                assert contrast(colors[word], colors[ground]) >= 4.5, f"{theme}: {word} on {ground}"
        for role in roles:
            assert contrast(colors[role], colors["--at-paper"]) >= 3, f"{theme}: {role}"


def test_law_figures_and_pages_share_their_colors():
    light = {name: color.lower() for name, color in variables("light").items()}
    drawn = {variable: color.lower() for color, variable in palette.THEMED.items()}
    roles = "QUERY", "KEY", "VALUE", "OUTPUT", "FIRST", "SECOND"
    drawn |= {f"--at-{role.lower()}": getattr(palette, role).lower() for role in roles}
    paper = drawn.pop("--at-paper"), light.pop("--at-paper")
    assert {name: light[name] for name in drawn} == drawn
    explorer = (ROOT / "builder" / "explorer" / "ui" / "explorer.css").read_text("utf-8")
    rgb = re.findall(r"--stack: ([\d ]+);", explorer)
    stacks = ["#" + bytes(map(int, color.split())).hex().upper() for color in rgb]
    assert stacks == [palette.ENCODER, palette.DECODER]
    assert contrast(*paper) < 1.05  # --at-paper differs imperceptibly; see palette for the reason


# The Sphinx extension.


def paragraphs(*texts: str) -> nodes.document:
    page = nodes.document(None, None)
    page += [nodes.paragraph(text, text) for text in texts]
    return page


def test_law_a_page_is_described_by_its_first_real_paragraph():
    long = "word " * 100
    describe = head.first_paragraph
    assert describe(paragraphs("short", "Long enough to describe\n what this page is about.")) == (
        "Long enough to describe what this page is about."
    )
    assert len(describe(paragraphs(long))) <= 300
    assert describe(paragraphs(long)).endswith("word…")
    assert describe(None) == describe(paragraphs("short")) == head.DESCRIPTION
    context: dict[str, str] = {}
    page = paragraphs('He said "attention", and <this> is all that you need to know.')
    head.describe_page(APP, "x", "page.html", context, page)
    assert 'content="He said &quot;attention&quot;, and &lt;this&gt; is' in context["metatags"]


def test_law_markdown_formulas_in_docstrings_become_math_roles():
    lines = [r"Return $\sqrt{d_k}$ and $Q", r"K^\top$."]
    docstrings.markdown_math(APP, "function", "f", None, None, lines)
    assert lines == [r"Return :math:`\sqrt{d_k}` and :math:`Q", r"K^\top`."]


def test_law_the_docstring_of_a_constant_keeps_the_words_before_its_colon():
    for what, kept in (("data", True), ("function", False)):
        lines = ["the numbers.", "", ":type: Table 3"]
        docstrings.keep_colons(APP, what, "BASE", None, None, lines)
        assert (lines == ["Table 3: the numbers.", ""]) is kept


def test_law_a_type_is_shortened_without_losing_the_node_that_holds_it():
    name = addnodes.desc_sig_name()
    name += [nodes.inline("", "~torch.nn.Module"), nodes.reference("", "Tensor"), nodes.Text("~a.B = 1")]
    page = nodes.document(None, None)
    page += name
    docstrings.shorten_types(APP, page)
    assert [child.astext() for child in name] == ["Module", "Tensor", "B = 1"]
    assert [type(child) for child in name] == [nodes.inline, nodes.reference, nodes.Text]


def test_law_a_question_is_folded_together_with_its_whole_answer():
    def asked(question: str, answer: str) -> nodes.paragraph:
        bold = nodes.strong("", question)
        return nodes.paragraph("", "", nodes.Text(""), bold, nodes.Text(answer))

    title, first = nodes.title("", "Questions readers ask"), nodes.paragraph("", "Before.")
    cell = nodes.container("", nodes.paragraph("", "A cell."))
    found = questions.folded([title, first, asked("Why?", " So."), cell, asked("How?", " Thus.")])
    assert found[:2] == [title, first]
    assert [questions.is_question(node) for node in found[2:]] == [True] * 2
    why, how = found[2:]
    assert [node.astext() for node in why.children] == ["Why?", "So.", "A cell."]
    assert [node.astext() for node in how.children] == ["How?", "Thus."]
    assert (why["ids"], how["ids"]) == (["asked-why"], ["asked-how"])


def test_law_only_the_section_of_questions_is_folded():
    bold = nodes.paragraph("", "", nodes.strong("", "Why?"), nodes.Text(" So."))
    for title, folds in (("Questions readers ask", 1), ("Why not …?", 0)):
        page = new_document("x")
        page += nodes.section("", nodes.title("", title), bold.deepcopy())
        questions.FoldQuestions(page).run()
        assert len(list(page.findall(questions.is_question))) == folds


def test_law_only_needed_scripts_are_loaded_and_waited_for():
    def load(body: str) -> dict[str, bool]:
        names = "documentation_options copybutton design-tabs sphinx_highlight doctools doctools".split()
        scripts = [SimpleNamespace(filename=f"_static/{name}.js?v=1", attributes={}) for name in names]
        context: dict = {"body": body, "script_files": scripts}
        head.choose_scripts(APP, "x", "page.html", context, None)
        return {Path(s.filename).name[:-7]: "defer" in s.attributes for s in context["script_files"]}

    always = {"documentation_options": False, "doctools": True}
    assert load("") == always
    assert load('class="highlight"') == {**always, "copybutton": True}


# Numbers.


def test_law_numbers_include_the_chapter_where_the_file_has_one():
    pages = {"chapters/03_attention": 1, "chapters/12_x": 7, "chapters/preface": 2}
    assert [numbers.number(name, place) for name, place in pages.items()] == ["3.1", "12.7", "2"]


def test_law_exercises_and_labeled_equations_are_counted_on_their_page():
    page = nodes.document(None, None)
    page += [exercise_enumerable_node("", label=label) for label in ("ex-a", "ex-b")]
    page += [nodes.math_block("x"), nodes.math_block("y", label="eq-y", number=7)]
    domain = SimpleNamespace(equations={})
    env = SimpleNamespace(docname="chapters/03_x", metadata=defaultdict(dict), get_domain=lambda name: domain)
    numbers.number_items(Mock(spec=Sphinx, env=env), page)
    assert env.metadata == {"chapters/03_x": {"exercises": {"ex-a": "3.1", "ex-b": "3.2"}}}
    assert domain.equations == {"eq-y": ("chapters/03_x", "3.1")}


@pytest.mark.parametrize(
    ("classes", "subtitle", "expected"),
    [
        (["implement", "stars-2"], "Softmax", "Exercise 3.1 · Implement ★★ · Softmax"),
        ([], "Softmax", "Exercise 3.1 · Softmax"),
        (["debug", "stars-3"], "", "Exercise 3.1 · Debug ★★★ "),
        ([], "", "Exercise 3.1 "),
    ],
)
def test_law_an_exercise_is_titled_by_its_kind_its_stars_and_its_name(classes, subtitle, expected):
    node, title = exercise_enumerable_node(classes=classes), exercise_title("", "Exercise")
    node += title
    if subtitle:
        title += exercise_subtitle("", subtitle)
    heading = numbers.exercise_heading(node, "3.1")
    text = "".join(re.sub("<[^>]*>", "", part.astext()) for part in heading.children)
    assert text == expected
    stars = [part.astext() for part in heading.findall(nodes.raw)]
    label = f'aria-label="difficulty {expected.count("★")} of 3"'
    assert [label in star for star in stars] == [True] * ("★" in expected)


# Formulas and fonts.


def test_law_a_formula_is_set_with_glyphs_and_with_mathml():
    html = formulas.set_formula(r"\sqrt{d_k}", False)
    assert html.startswith("<mjx-container")
    assert 'class="mjx-c1D451 TEX-I"' in html  # an italic d
    assert "<msqrt>" in html
    assert "display" not in html.split(">")[0]
    assert 'display="true"' in formulas.set_formula("x", True).split(">")[0]


def test_law_the_style_sheet_of_formulas_depends_only_on_the_formulas():
    wanted = {("Q", False), (r"\frac{a}{b}", True)}
    first = formulas.style_sheet(wanted)
    formulas.style_sheet({(r"\mathbb{R}^n", False)})
    assert formulas.style_sheet(wanted) == first
    assert "mjx-c1D444" in first
    assert "mjx-c211D" not in first  # R of the real numbers


def test_law_only_the_fonts_and_glyphs_in_use_are_included():
    def files(tex: str, display: bool) -> dict[str, bytes]:
        return fonts.style_with_fonts(
            formulas.style_sheet({(tex, display)}), formulas.set_formula(tex, display)
        )

    found = files("Q", False)
    used = ("Zero", "Main-Regular", "Math-Italic")
    assert set(found) == {"formulas.css", *(f"MathJax_{name}.woff" for name in used)}
    letters = TTFont(io.BytesIO(found["MathJax_Math-Italic.woff"])).getBestCmap()
    assert {ord("Q"), ord("K")} & set(letters) == {ord("Q")}
    brace = r"\underbrace{a + b + c + d + e}_{n}"
    assert "MathJax_Size4-Regular.woff" in files(brace, True)  # its rule names elements, not a class


def test_law_the_link_check_builder_discards_no_formulas():
    builder = SimpleNamespace(format="")  # it writes no page, so it has no `current_docname`
    app = Mock(spec=Sphinx, builder=builder, at_formulas={"chapters/x": ["x"]})
    formulas.forget_page(app, Mock(spec=nodes.document), "chapters/x")
    assert app.at_formulas == {"chapters/x": ["x"]}
    builder.format, builder.current_docname = "html", "chapters/x"
    formulas.forget_page(app, Mock(spec=nodes.document), "chapters/x")
    assert app.at_formulas == {"chapters/x": []}


@pytest.mark.message
def test_message_a_wrong_formula_is_named_with_its_page_and_what_is_wrong():
    app = SimpleNamespace(doctreedir="/nowhere", builder=SimpleNamespace(current_docname="chapters/x"))
    writer = SimpleNamespace(builder=SimpleNamespace(current_docname="chapters/x", app=app), body=[])
    named = r"chapters/x: the formula '.*foo.*' cannot be set: Undefined control .*foo"
    with pytest.raises(ExtensionError, match=named):
        formulas.write_formula(writer, nodes.math("", r"\foo"), r"\foo", False)
    with pytest.raises(ValueError, match="Missing close brace"):
        formulas.set_formula(r"\frac{a", True)


def test_law_blank_lines_separate_equations_and_double_backslashes_break_lines():
    assert formulas.display_tex("a\n\nb") == r"\begin{align}\begin{aligned}a\\b\end{aligned}\end{align}"
    assert formulas.display_tex(r"a \\ b") == r"\begin{split}a \\ b\end{split}"
    assert formulas.display_tex("a") == "a"


def test_law_without_scripts_the_system_chooses_the_theme():
    css = (
        ':root, html[data-theme="light"] {--x: 1} p {a: b}\n'
        "html[data-theme=dark] img:not(.a, .b) {c: d} @media print {html[data-theme=dark] {e: f}}"
    )
    assert themes.without_script(css) == (
        'html[data-theme="auto"]{--x: 1}\n'
        "@media screen and (prefers-color-scheme: dark){\n"
        'html[data-theme="auto"] img:not(.a, .b){c: d}\n}\n'
    )


# The rendered pages, as files.


def read(page: str) -> dict[str, list[str]]:
    """Return the titles, descriptions, language, ids, links, other addresses, and formulas of a page."""
    root = lxml.html.document_fromstring(page)
    return {
        "title": [title.text_content().strip() for title in root.iter("title")],
        "description": [meta.get("content") for meta in root.xpath("//meta[@name='description']")],
        "language": [root.get("lang", "")],
        "id": [str(name) for name in root.xpath("//@id | //*[not(self::meta)]/@name")],
        "link": [str(link) for link in root.xpath("//a/@href")],
        "resource": [str(address) for address in root.xpath("//@src | //@srcset | //*[not(self::a)]/@href")],
        "formula": [part.tag for part in root.find_class("math")],
    }


@functools.cache
def text_of(name: str) -> str:
    assert (HTML / "index.html").is_file(), f"{HTML} holds no book; run `make book` first"
    return (HTML / f"{name}.html").read_text(encoding="utf-8")


@functools.cache
def seen(name: str) -> dict[str, list[str]]:
    return read(text_of(name))


@pytest.mark.page
@pytest.mark.parametrize("name", PAGES)
def test_law_a_page_says_what_it_is_leads_somewhere_needs_no_other_site_and_has_unique_ids(name):
    page, text = seen(name), text_of(name)
    (title,), (description,) = page["title"], page["description"]
    assert title.strip(" —-")
    assert len(description) >= 40
    assert page["language"] == ["en"]
    assert dead_links(name, page) == []
    assert [link for link in page["resource"] if urlparse(link).scheme in {"http", "https"}] == []
    assert re.findall(r"cdn|jsdelivr|unpkg|thebe", text, re.IGNORECASE) == []
    assert ("_static/formulas/MathJax_" in text.partition("</head>")[0]) == bool(page["formula"])
    assert {id for id, count in Counter(page["id"]).items() if count > 1} <= {"q"}  # of the search fields


@pytest.mark.page
def test_law_no_two_pages_have_the_same_title_and_only_some_have_formulas():
    titles = [seen(name)["title"][0] for name in PAGES if name != "index"]
    assert len(set(titles)) == len(titles)
    assert {bool(seen(name)["formula"]) for name in PAGES} == {True, False}


def dead_links(name: str, page: dict[str, list[str]]) -> list[str]:
    dead = []
    for link in {*page["link"], *page["resource"]}:
        target = urlparse(urljoin(f"{SITE}{name}.html", link))
        if not target.geturl().startswith(SITE):
            continue
        path, anchor = unquote(target.path).lstrip("/"), unquote(target.fragment)
        linked = path.removesuffix(".html")
        anchors = seen(linked)["id"] if anchor and linked in PAGES else [anchor]
        if not (HTML / path).is_file() or anchor not in anchors:
            dead.append(link)
    return dead


@pytest.mark.page
def test_law_a_dead_link_is_found():
    for link in ("nowhere.html", "chapters/notation.html#nowhere", "_static/nowhere.js"):
        assert dead_links("faulty", read(f"<a href='{link}'>x</a>")) == [link]
    assert any("#" in link and link != "#" for link in seen("index")["link"])


def type_texts(page: str) -> list[str]:
    """Return the text of each type in a page's signatures, without tags."""
    found = re.findall(r'<em class="sig-param">(.*?)</em>', page, re.DOTALL)
    found += re.findall(r'<span class="sig-return-typehint">(.*?)</span>\s*</span>', page, re.DOTALL)
    return [html_module.unescape(re.sub("<[^>]*>", "", text)) for text in found]


@pytest.mark.page
def test_law_no_type_is_printed_twice():
    signatures = "".join(page.read_text(encoding="utf-8") for page in (HTML / "chapters/api").glob("*.html"))
    types = type_texts(signatures)
    assert any("Float[Tensor, '*batch queries d_k']" in text for text in types)
    assert [text for text in types if re.search(r"\b([A-Z]\w{2,})\1\b", text)] == []
    assert re.search(r"\b([A-Z]\w{2,})\1\b", "FloatFloat[TensorTensor")  # the pattern matches a repeated type
    assert re.findall(r"~\w+\.[\w.]*", signatures) == []  # each type is shown by its last name


@pytest.mark.page
@pytest.mark.parametrize("name", [name for name in DOCUMENTS if re.match(r"chapters/\d\d_", name)])
def test_law_equations_and_exercises_are_numbered_by_chapter(name):
    chapter = int(name[9:11])
    for pattern in (r'class="eqno">\(([\d.]+)\)', r'class="caption-number">Exercise ([\d.]+) <'):
        found = re.findall(pattern, text_of(name))
        assert found == [f"{chapter}.{place}" for place in range(1, len(found) + 1)]
        assert found


@pytest.mark.page
@pytest.mark.slow
def test_law_rendering_twice_gives_the_same_book(tmp_path: Path):
    tool = str(Path(sys.executable).with_name("jupyter-book"))
    command = [tool, "build", ".", "--path-output", str(tmp_path), "-W", "-n", "--keep-going"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    again = tmp_path / "_build" / "html"
    names = [f"{name}.html" for name in PAGES]

    def page(path: Path) -> str:
        """Read a page without the checksums that are added to URLs if the folder already contained a book."""
        return re.sub(r"\?v=[0-9a-f]{8}", "", path.read_text(encoding="utf-8"))

    changed = [name for name in names if page(again / name) != page(HTML / name)]
    assert changed == [], "rendered otherwise than _build/html; if a source changed since, run `make book`"
