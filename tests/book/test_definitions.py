"""Each function and class is defined once: chapters import the package instead of redefining its names.

The training loop of toy models is `fit`: no chapter and no room writes it again.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
import torch

from builder.chapters import parsed, written

ROOT = Path(__file__).resolve().parents[2]
READERS = {"exercise", "solution"}  # code written by readers may use any name
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PYTORCH = {name for name in {*dir(torch), *dir(torch.nn.functional)} if not name.startswith("_")}
PARTS = set("softmax log_softmax exp masked_fill tril triu matmul bmm einsum layer_norm".split())

BOOK = "annotated_transformer/book"
OWN_PARTS = "own_parts.md"  # its classes are examples of a reader's own
RESTATED = {  # functions that restate attention, and why
    "21_cost_and_scale.md": {
        "attend_to_all": "a layer without weights, whose multiplications are counted",
        "attend_in_blocks": "the fused kernel, derived",
        "blocks_unscaled": "its mistake",
    },
}
OTHER_UPDATES = {  # where a function or a loop makes updates without `fit`, and why
    f"{BOOK}/toy/fitting.py": {"def fit": "it is the loop"},
    f"{BOOK}/chapters/embeddings/exercises.py": {"def check_tie": "it makes one update of an answer"},
    "07_embeddings.md": {
        "for optimizer in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):": "it compares optimizers"
    },
    "21_cost_and_scale.md": {"def fitted_error": "its weights are stored in a type of their own"},
    "16_training.md": {"def make_updates": "the chapter takes the loop apart: it clips, and omits zero_grad"},
}


def package() -> dict[str, str]:
    """Return the source of each module of the package and of the site."""
    folders = (ROOT / "annotated_transformer", ROOT / "builder" / "site", ROOT / "builder" / "explorer")
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}


def definitions(code: str) -> list[str]:
    """Return the names of a module's top-level functions and classes; signatures of an overload are none."""
    found = [node for node in ast.parse(code).body if isinstance(node, DEFINITION)]
    return [node.name for node in found if "overload" not in map(ast.unparse, node.decorator_list)]


def defined_twice(modules: dict[str, str]) -> list[str]:
    """Return the names that two modules define, but for private ones, `setup`, and drawings."""
    places = defaultdict(list)
    for path, code in modules.items():
        for name in definitions(code):
            if not name.startswith(("_", "draw_")) and not (name == "setup" and "sphinx" in code):
                places[name].append(path)
    return [f"{name}: {', '.join(paths)}" for name, paths in sorted(places.items()) if len(paths) > 1]


def second_definitions(chapter: str, names: Iterable[str]) -> list[str]:
    """Return the names and code that a chapter redefines instead of importing."""
    wrong = []
    for code in cells(chapter):
        for node in ast.walk(ast.parse(code)):
            name = defined(node)
            if name in names:
                wrong.append(f"{name} is the package's: import it")
            elif name in PYTORCH:
                wrong.append(f"{name} is PyTorch's: call it")
            elif isinstance(node, ast.ClassDef):
                wrong.append(f"class {name}: a class belongs into the package, tested")
            elif isinstance(node, ast.Lambda) and computes(node):
                wrong.append(f"{ast.unparse(node)} restates the package: import it")
            elif isinstance(node, ast.FunctionDef) and restates_attention(node):
                wrong.append(f"def {name} restates attention: import it")
    return wrong


def cells(chapter: str) -> list[str]:
    """Return the code cells of a chapter, without those of exercises."""
    found = parsed(chapter).cells
    code = [cell for cell in found if cell.cell_type == "code"]
    return [cell.source for cell in code if not READERS & set(cell.metadata.get("tags", []))]


def updating(code: str) -> list[str]:
    """Return the first line of each loop or function, not within another, that makes updates of weights."""
    return [
        f"def {node.name}" if isinstance(node, DEFINITION) else ast.unparse(node).splitlines()[0]
        for node in ast.parse(code).body
        if hasattr(node, "body") and called(node) >= {"backward", "step"}
    ]


def defined(node: ast.AST) -> str:
    if isinstance(node, DEFINITION):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        return ast.unparse(node.targets[0])
    return ""


def called(node: ast.AST) -> set[str]:
    """Return the unqualified names of all calls within a node: "softmax" for `torch.softmax(x)`."""
    calls = [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    return {ast.unparse(function).rpartition(".")[2] for function in calls}


def computes(node: ast.Lambda) -> bool:
    """Return whether a lambda with arguments reimplements package code: a product, a softmax, or a mask."""
    products = [inner for inner in ast.walk(node) if isinstance(inner, ast.MatMult)]
    return bool(node.args.args) and (bool(products) or bool(called(node) & PARTS))


def restates_attention(node: ast.FunctionDef) -> bool:
    """Return whether a function is a hand-written softmax, or returns attention in one line.

    Longer functions are experiments: they may change what happens between the product and the softmax.
    Sections called "In NumPy" repeat an equation without PyTorch on purpose, and compare the two.
    """
    if any(isinstance(inner, ast.Name) and inner.id == "np" for inner in ast.walk(node)):
        return False
    here, inside = called(node), [type(inner) for inner in ast.walk(node)]
    own_softmax = "exp" in here and "sum" in here and ast.Div in inside
    short = all(isinstance(statement, ast.Return | ast.Expr) for statement in node.body)
    product = ast.MatMult in inside or bool(here & {"matmul", "bmm", "einsum"})
    return own_softmax or (short and product and "softmax" in here)


def test_law_no_chapter_redefines_names_of_the_package():
    own = f"{BOOK}/chapters/"  # no chapter draws with what another one's room has
    names = {
        name
        for path, code in package().items()
        for name in definitions(code)
        if not (path.startswith(own) and name.startswith("draw_"))
    }
    assert "attention_weights" in names
    sources = [source for source in written(ROOT) if source.name != OWN_PARTS]
    assert {p.name: second_definitions(p.read_text("utf-8"), names) for p in sources} == {
        p.name: [f"def {name} restates attention: import it" for name in RESTATED.get(p.name, ())]
        for p in sources
    }


def test_law_the_package_defines_nothing_twice():
    assert defined_twice(package()) == []


def test_law_toy_models_are_trained_by_fit():
    sources = sorted((ROOT / "chapters" / "src").glob("*.md"))
    code = {path.name: cells(path.read_text("utf-8")) for path in sources}
    code |= {path: [source] for path, source in package().items() if path.startswith(BOOK)}
    found = {place: [line for part in parts for line in updating(part)] for place, parts in code.items()}
    assert {place: lines for place, lines in found.items() if lines} == {
        place: list(reasons) for place, reasons in OTHER_UPDATES.items()
    }


UPDATE = "loss(model).backward()\n    optimizer.step()"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (f"for step in range(9):\n    {UPDATE}", ["for step in range(9):"]),
        (f"while True:\n    {UPDATE}", ["while True:"]),
        (f"def train(model):\n    {UPDATE}", ["def train"]),
        (f"with learning(model):\n    {UPDATE}", ["with learning(model):"]),
        ("def train(m):\n    def go():\n        f(m).backward()\n    go()\n    adam.step()", ["def train"]),
        ("loss(model).backward()\noptimizer.step()", []),  # a single update
        ("for loss in losses:\n    loss.backward()", []),
        ("fit(model, draw_loss, steps=9, lr=0.1)", []),
    ],
)
def test_law_a_training_loop_is_found(code: str, found: list[str]):
    assert updating(code) == found


CHAPTER = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
---

```{code-cell} ipython3
:tags: [TAG]

if True:
    def NAME(x):
        return x
```
"""


def test_law_a_redefinition_is_reported_except_in_a_solution():
    chapter, names = CHAPTER.replace("TAG", "hide-input"), ["softmax", "Encoder"]
    for old, new, found in (
        ("NAME", "mine", []),
        ("NAME", "softmax", ["softmax is the package's: import it"]),
        ("NAME", "matmul", ["matmul is PyTorch's: call it"]),
        ("def NAME(x)", "class Encoder", ["Encoder is the package's: import it"]),
        ("def NAME(x)", "class Mine", ["class Mine: a class belongs into the package, tested"]),
    ):
        assert second_definitions(chapter.replace(old, new), names) == found
    assert second_definitions(CHAPTER.replace("TAG", "solution").replace("NAME", "softmax"), names) == []


COPIES = [
    ("softmax = lambda x: x", "softmax is PyTorch's"),
    ("mine = lambda x: x.exp() / x.exp().sum()", "restates the package"),
    ("show(lambda q, k: (q @ k.T).softmax(-1))", "restates the package"),
    ("masks = {'causal': lambda n: torch.ones(n, n).tril()}", "restates the package"),
    (
        "def weigh(q):\n    e = [math.exp(s) for s in q]\n    return [x / sum(e) for x in e]",
        "def weigh restates",
    ),
    ("def mine(q, k, v):\n    return (q @ k.mT).softmax(dim=-1) @ v", "def mine restates attention"),
    ("def mine(q, k, v):\n    return F.softmax(torch.einsum('qd,kd->qk', q, k), -1)", "def mine restates"),
    ("def mine(s):\n    e = np.exp(s)\n    return e / e.sum()", None),
    ("def mine(q, k):\n    x = q @ k.mT + 1\n    return x.softmax(dim=-1)", None),
    ("message(lambda: q @ k)", None),
    ("sorted(x, key=lambda pair: -pair[1])", None),
    ("def gap(a, b):\n    return (a - b).abs().max().item()", None),
    ("def scores(width):\n    return torch.randn(3, width) @ torch.randn(width, 5)", None),
]


def test_law_a_copy_of_package_code_under_another_name_is_found():
    for code, complaint in COPIES:
        cell = "```{code-cell} ipython3\n" + code + "\n```\n"
        found = second_definitions(CHAPTER.partition("```")[0] + cell, ["attention_weights"])
        assert (len(found) == 1 and complaint in found[0]) if complaint else found == [], code


def test_law_a_copy_within_the_package_is_found():
    assert defined_twice(
        {"a.py": "def f(): ...", "b.py": "class f: ...", "c.py": "class A:\n def f(self): ..."}
    ) == ["f: a.py, b.py"]
    assert defined_twice({"a.py": "@overload\ndef f(x: int): ...\n\n\ndef f(x): ..."}) == []
