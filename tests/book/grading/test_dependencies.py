"""Which cells are needed: those that define or change a name, directly or through others, and no more."""

import pytest

from annotated_transformer.book.grading.dependencies import names_in, needed_cells, parse_cell, preparation


def names(source):
    return names_in(parse_cell(source))


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("y = x", "x"),
        ("x = 1\ny = x", ""),
        ("x = x + 1", "x"),
        ("x += 1", "x"),
        ("del x", "x"),
        ("x[0] = 1", "x"),
        ("x.y = z", "x z"),
        ("def f(a, b=c, *args: d, **k) -> e:\n    g = a\n    return g + h(b, f)", "c d e h"),
        ("@cache\ndef f(): pass", "cache"),
        ("class A(B):\n    size = n\n    def f(self):\n        return self.size * m", "B n m"),
        ("def f(): return g()\ndef g(): return 1", ""),
        ("[i * k for i in rows if i]", "k rows"),
        ("f = lambda a: a + b", "b"),
        ("for i in rows:\n    total += i", "rows total"),
        ("if a:\n    x = 1\nprint(x)", "a print x"),
        ("if a:\n    x = 1\nelse:\n    x = 2\nx", "a"),
        ("with f() as g:\n    x = g\nx", "f"),
        ("while t:\n    t = u", "t u"),
        ("try:\n    x = a\nexcept E as e:\n    e\nfinally:\n    b\nx", "a E b x"),
        ("match a:\n    case B(c): d(c)", "a B d"),
        ("(y := x)\ny", "x"),
        ("def f():\n    global n\n    n = 1", ""),
        ("import a.b\na.b.c", ""),
        ("from a import b as c\nb, c", "b"),
        ("await f(x)", "f x"),
        ("f'{x:{w}}'", "x w"),
        ("%time\nx", "x"),
        ("%%timeit -n 3\nx", "x"),
        ("!ls\nx", "x"),
        ("x?", ""),
        ("def f(:", ""),
    ],
)
def test_law_a_name_is_needed_if_it_is_read_before_the_cell_defines_it(source, needs):
    assert names(source).needs == set(needs.split())


@pytest.mark.parametrize(
    "change",
    [
        "x = 2",
        "x += 1",
        "x: int = 2",
        "x[0] = 1",
        "x.rows[0].y = 1",
        "del x[0]",
        "x.append(1)",
        "for i in rows:\n    x.add(i)",
        "x.rows.update(y)",
        "last = x.pop()",
        "y = x.weight.mul_(2)",
        "fit(x)",
        "losses = train(3, model=x)",
        "for row in x:\n    row.append(1)",
        "for i, row in enumerate(x):\n    row[0] = i",
        "y = x.rows\ny[0] = 1",
        "with f() as x: pass",
        "def x(): pass",
        "class x: pass",
        "def f():\n    global x\n    x = 1",
    ],
)
def test_law_a_cell_that_may_change_what_is_needed_is_needed(change):
    cells = [names(source) for source in ("x = []", change, "print(x)", "show_figure(draw, x)", "z = x + 1")]
    assert needed_cells(cells, {"x"}) == [0, 1]


def test_law_cells_are_needed_through_others_and_unrelated_ones_are_not():
    sources = [
        "def f(a):\n    return g(a)",
        "slow = run()",
        "def g(a):\n    return a * k",
        "k = n",
        "n = 3",
        "m = f(1)",
    ]
    assert needed_cells([names(source) for source in sources], {"f"}) == [0, 2, 3, 4]
    assert needed_cells([names(source) for source in sources], set()) == []


def test_law_giving_a_function_or_an_import_away_does_not_change_it():
    sources = ["from torch import nn\nimport math", "def f(): pass", "run(f, nn, math, len)"]
    assert needed_cells([names(source) for source in sources], {"f", "nn", "math", "len"}) == [1]


def test_law_imports_and_settings_of_modules_are_prepared_in_order():
    sources = [
        "import torch\nfrom a import b as c\ntorch.set_default_dtype(torch.float64)\nx = torch.ones(3)",
        "torch.testing.assert_close(x, x)\nif x:\n    import late\ntorch.backends.mkl.verbose = 1\nx.sum()",
        "import math",
    ]
    assert preparation(map(parse_cell, sources)) == [
        "import torch",
        "from a import b as c",
        "torch.set_default_dtype(torch.float64)",
        "torch.backends.mkl.verbose = 1",
        "import math",
    ]
