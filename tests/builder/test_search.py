"""The search: formulas as text, sections, their order, quotations, and marks, from a file address."""
# ruff: noqa: RUF001  formulas consist of such characters

import gzip
import json
import re
from pathlib import Path
from urllib.parse import quote

import lxml.html
import pytest
from playwright.sync_api import expect

from builder.site.rendering.formulas import set_formula
from builder.site.rendering.plain_math import formula_text
from builder.site.rendering.search import sections_of

HTML = Path(__file__).resolve().parents[2] / "_build" / "html"


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)V", "softmax(QKᵀ/√d_k)V"),
        (r"\frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}}", "(x − μ)/(√(σ² + ϵ))"),
        (r"W_i^Q \in \mathbb{R}^{d_{\text{model}} \times d_k}", "W_i^Q ∈ ℝ^(d_model × d_k)"),
        (r"\sum_{i=1}^n w_i = 1,\quad h'_t \approx -10^{-5}", "∑_(i = 1)^n w_i = 1, h_t′ ≈ −10⁻⁵"),
        (r"2 d_{\text{model}} h \cdot 4{,}000", "2d_model h ⋅ 4,000"),
        (r"\hat{y} = \arg\max_y \log p(y \mid x)", "ŷ = arg max_y log p(y ∣ x)"),
        (r"\begin{aligned}a &= b\\ c &=\\ &\quad d\end{aligned}", "a = b; c = d"),
    ],
)
def test_law_a_formula_reads_as_one_line_of_text(tex: str, text: str):
    math = lxml.html.fromstring(set_formula(tex, True)).find(".//math")
    assert formula_text(math) == text


PAGE = f"""<nav>Menu</nav><article>
<section id="top"><h1>The\u2011title<a class="headerlink">#</a></h1>
<p>A <b>b</b>old{set_formula("d_k", False)}.</p><p>Next</p><div class="at-set at-on-phone">again</div>
<section id="part"><span id="old"></span><h2>Part</h2><script>no</script>
<div class="cell_input">code</div>Text
<details class="at-asked" id="asked"><summary>Why?<i class="at-whence">run</i></summary><p>So.</p></details>
<div class="exercise admonition" id="ex"><p class="title">Exercise</p><p>Do.</p>
<details class="at-hint"><summary>Hint</summary>no</details></div>
<div class="solution admonition" id="no"><p>Solution</p></div> End</section>
<dl><dt id="term-a">a</dt><dd>An <i>a</i>.</dd></dl>
<dl><dt class="sig" id="room.box.Box">class Box(size: int)</dt><dd>Hold.
<dl><dt class="sig" id="room.box.Box.open">open()</dt><dd>Open it.</dd></dl></dd></dl>
</section></article>"""


def test_law_sections_questions_exercises_terms_and_names_are_found_by_themselves():
    assert [section[:3] for section in sections_of(PAGE)] == [
        ("top", "The-title", "A boldd_k. Next"),
        ("part", "Part", "Text End"),
        ("asked", "Why?", "So."),
        ("ex", "Exercise", "Do."),
        ("term-a", "a", "An a."),
        ("room.box.Box", "Box", "Hold. class (size: int)"),
        ("room.box.Box.open", "Box.open", "Open it. ()"),
    ]


# The rendered book.


def index() -> dict[str, list[list[str]]]:
    script = (HTML / "searchindex.js").read_text(encoding="utf-8")
    return json.loads(script.partition("const INDEX = ")[2].rstrip(";\n"))


@pytest.mark.page
def test_law_the_index_is_small_and_leads_to_what_is_there():
    assert len(gzip.compress((HTML / "searchindex.js").read_bytes())) < 600_000
    found = index()
    for number, (address, _, _) in enumerate(found["pages"]):
        anchors = [section[1] for section in found["sections"] if section[0] == number]
        ids = re.findall(r'\bid="([^"]+)"', (HTML / address).read_text(encoding="utf-8"))
        assert anchors, address
        assert set(anchors) <= set(ids), address
    assert not re.search(r"\\[a-z]+\{|\$[^ ]+\$", " ".join(text for _, _, _, text, _ in found["sections"]))


def found(page, query: str) -> list[str]:
    """Search, and return the addresses of the results, without the words that are to be marked."""
    page.goto(f"{(HTML / 'search.html').as_uri()}?q={quote(query)}")
    expect(page.get_by_role("status")).to_have_text(re.compile(r"\.$"))
    links = page.locator("ul.search > li > a").evaluate_all("links => links.map(a => a.getAttribute('href'))")
    return [re.sub(r"\?[^#]*", "", link).removeprefix("chapters/") for link in links]


WHY_SQRT = "03_scaled_dot_product_attention.html#an-experiment-why-divide-by-sqrt-d-k"
MODEL = "api/model.html#annotated_transformer.model"
BEST = {
    "why divide by the square root": "handbook/03_scaled_dot_product_attention.html#asked-why-divide-by-sqrt",
    "√d_k": WHY_SQRT,
    "sqrt(d_k)": WHY_SQRT,
    "what is a query": "02_queries_keys_values.html#",
    "beam search length penalty": "18_decoding.html#",
    "label smoothing": "16_training.html#label-smoothing",
    "loss becomes nan": "handbook/16_training.html#asked-the-loss-becomes-nan",
    "how do I train on my own data": "train_and_translate.html#your-own-sentences-in-ten-minutes",
    "softmax(QKᵀ/√d_k)V": "03_scaled_dot_product_attention.html#the-equation",
    "attention_weights": f"{MODEL}.attention.attention_weights",
    "MultiHeadAttention": f"{MODEL}.multi_head_attention.MultiHeadAttention",
    "warmup": "16_training.html#",  # the book writes warm-up
}
AMONG_THREE = {
    "causal mask": "06_masking.html#a-causal-mask-brings-order",
    "sinusoidal vs learned positions": "08_positional_encoding.html#an-experiment-reverse-a-sequence",
    "layer norm before or after": "09_add_and_norm.html#",  # two of its sections, and one of chapter 22
}


@pytest.mark.page
def test_law_what_readers_ask_leads_to_the_section_that_answers(visitor):
    links = {query: found(visitor, query) for query in (*BEST, *AMONG_THREE)}
    for wanted, places in ((BEST, 1), (AMONG_THREE, 3)):
        for query, address in wanted.items():
            assert any(link.startswith(address) for link in links[query][:places]), (query, links[query])
    pages = [link.partition(".")[0] for link in links["why divide by the square root"]]
    assert pages.index("03_scaled_dot_product_attention") < pages.index("16_training")
    assert len(set(found(visitor, "mask"))) == 40  # each section once
    assert found(visitor, "xyzzy ???") == []
    expect(visitor.get_by_role("status")).to_contain_text("No section")


@pytest.mark.page
def test_law_the_search_works_by_keyboard_and_fits_a_phone(visitor):
    visitor.goto((HTML / "chapters" / "06_masking.html").as_uri())
    visitor.keyboard.press("Control+k")
    visitor.keyboard.type("causal mask")
    visitor.keyboard.press("Enter")
    visitor.wait_for_url("**/search.html?q=causal+mask")
    expect(visitor.locator("ul.search mark").first).to_be_visible()
    assert [field.input_value() for field in visitor.locator("input[name=q]").all()] == ["causal mask"] * 2
    visitor.keyboard.press("Tab")
    assert (
        visitor.evaluate("document.activeElement.closest('ul.search > li')?.previousElementSibling") is None
    )
    visitor.resize(width=390, height=800)
    assert visitor.evaluate("document.documentElement.scrollWidth") <= 390
