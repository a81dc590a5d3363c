"""The cells that an answer needs give it what all cells would have given it."""

import random

from annotated_transformer.book.exercises.needs import cells_for

LINES = (
    "{x} = [{n}]",
    "{x} = {y} + [{n}]",
    "for i in range({n}): {x}[0] += i * {y}[0]",
    "{x}.append({n}); {y}.insert(0, {n})",
    "last = change({x})",
    "def change(v): v[-1] += {n} * len({y})",
    "del {x}[1:]",
)


def test_law_the_needed_cells_give_what_all_cells_give():
    rng, skipped = random.Random(0), 0
    for _ in range(200):
        names = [rng.sample("abc", 2) for _ in range(9)]
        drawn = [rng.choice(LINES).format(x=x, y=y, n=rng.randrange(4)) for x, y in names]
        cells = ["a, b, c = [1], [2], [3]", "def change(v): v.extend((lambda: c)())", *drawn, "result = a"]
        kept = cells_for(cells, [len(cells) - 1])
        results = []
        for each in (cells, [cells[place] for place in kept]):
            exec("\n".join(each), scope := {})
            results.append(scope["result"])
        assert results[0] == results[1], cells
        skipped += len(cells) - len(kept)
    assert skipped > 400
    cells = ["import os", "os.chdir('data')", "b = 1", "!make", "def f(", "a = 1"]
    assert cells_for(cells, [5]) == [0, 1, 3, 4, 5]
