"""Reading the exercises of a notebook: what marks them, when they are untouched, and what is executed."""

import json

import pytest

from annotated_transformer.book.grading.notebook import Task, mark, read_exercises, starter_digest, without

STARTER = "def f():\n    raise NotImplementedError('your turn')\n\n\nchecks.check_f(f, size)"
PYTHON = {"kernelspec": {"language": "python"}}


def text(source, id=""):
    return {"cell_type": "markdown", "source": source, "metadata": {"exercise": mark(id)} if id else {}}


def code(source, tags="", **marked):
    metadata = {"tags": tags.split(), **({"exercise": marked} if marked else {})}
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "metadata": metadata}


def saved(folder, *cells, metadata=PYTHON):
    path = folder / "mine.ipynb"
    path.write_text(json.dumps({"cells": list(cells), "metadata": metadata}), encoding="utf-8")
    return path


def test_law_a_starter_is_untouched_until_its_code_changes_comments_and_layout_aside(tmp_path):
    marked = mark("3.2", STARTER)
    assert marked == {"id": "3.2", "starter": starter_digest(STARTER), "check": "checks.check_f(f, size)"}
    for source, untouched in (
        (STARTER, True),
        ("# my plan: none\n" + STARTER.replace("'", '"').replace("\n\n\n", "\n"), True),
        (STARTER.replace("your turn", "later"), False),
        ("", False),
        ("def f(:", False),
    ):
        (found,) = read_exercises(saved(tmp_path, code(source, **marked)))
        assert (found.id, found.check, found.untouched) == ("3.2", "checks.check_f(f, size)", untouched)


def test_law_the_imports_the_answer_and_what_both_need_are_executed(tmp_path):
    marked = mark("3.2", STARTER)
    path = saved(
        tmp_path,
        code("%pip install it", "setup"),
        code("import torch\nfrom a import exercises as checks\ntorch.manual_seed(0)"),
        code("size = half * 2"),
        code("while True: pass"),
        code("half = 3"),
        text("### Exercise 3.2 · Implement", "3.2"),
        code("def helper(): return half"),
        code("def f():\n    return helper()\n\nchecks.check_f(f, size)", **marked),
        code("f = 3", "solution"),
        code("import late\nsize = 5"),
    )
    assert read_exercises(path) == [
        Task(
            "3.2",
            "checks.check_f(f, size)",
            False,
            ["import torch", "from a import exercises as checks", "torch.manual_seed(0)"],
            ["size = half * 2", "half = 3", "def helper(): return half", "def f():\n    return helper()\n\n"],
        )
    ]


def test_law_an_answer_may_be_split_or_copied_and_its_check_deleted(tmp_path):
    marked, check = mark("3.2", STARTER), "checks.check_f(f, size)"
    halves = "def g(): return 1", "def f(): return g()"
    (found,) = read_exercises(saved(tmp_path, *(code(half, **marked) for half in halves), code("size = 1")))
    assert (found.cells, found.check) == ([*halves], check)
    copied = code(STARTER, **marked), code("def f(): return 2", **marked)
    (found,) = read_exercises(saved(tmp_path, code("size = 1"), *copied))
    assert not found.untouched
    assert found.cells == ["size = 1", without(check, STARTER), "def f(): return 2"]


def test_law_an_exercise_without_a_check_is_listed_in_its_place(tmp_path):
    path = saved(
        tmp_path,
        text("### Exercise 3.1", "3.1"),
        text("My thoughts."),
        text("### Exercise 3.2", "3.2"),
        code(STARTER, **mark("3.2", STARTER)),
    )
    assert [(found.id, found.check) for found in read_exercises(path)] == [
        ("3.1", ""),
        ("3.2", "checks.check_f(f, size)"),
    ]


def test_law_only_the_check_at_the_end_of_a_cell_is_left_for_later():
    assert without("check_f(f)", "f = 1\ncheck_f( f )  # now") == "f = 1\n"
    for source in ("check_f(f)\nf = 1", "f = 1\ncheck_f(g)", "f = ("):
        assert without("check_f(f)", source) == source


@pytest.mark.message
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "it is not a notebook; give a file that Jupyter has saved"),
        (b"\xff\xfe", "it is not a notebook"),
        (b"[]", "it is not a notebook"),
        (b'{"cells": ["a"]}', "it is not a notebook"),
        (b'{"worksheets": [], "metadata": {}}', "it has no cells, as in notebook formats before 4"),
        (b'{"cells": [{"source": ""}], "metadata": {}}', "it has no cells"),
        (b'{"cells": [], "metadata": {"kernelspec": {"language": "R"}}}', "its language is R; give a note"),
        (b'{"cells": [], "metadata": {"language_info": {"name": "julia"}}}', "its language is julia"),
        (b'{"cells": [], "metadata": {}}', "it has no exercises; give a copy of a chapter of this book"),
    ],
)
def test_message_what_is_no_notebook_with_exercises(tmp_path, content, sentence):
    path = tmp_path / "mine.ipynb"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_exercises(path)


@pytest.mark.message
def test_message_a_copy_from_before_exercises_were_marked(tmp_path):
    path = saved(tmp_path, text("### Exercise 3.1 · Predict"), code(STARTER, "exercise"))
    with pytest.raises(ValueError, match="its exercises have no ids, as in older copies; put the answers in"):
        read_exercises(path)
