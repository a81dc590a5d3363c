"""An answer runs in its own process: it gets a verdict, or the reason why there is none, whatever it does."""

import sys
import time
from importlib import import_module

import pytest

from annotated_transformer.book.grading.execution import grade
from annotated_transformer.book.grading.notebook import Task

ROOM = "annotated_transformer.book.chapters.scaled_dot_product_attention"
IMPORT = f"from {ROOM}.exercises import check_softmax"
RIGHT = """import math
def softmax(scores):
    largest = max(scores)
    total = sum(math.exp(score - largest) for score in scores)
    return [math.exp(score - largest) / total for score in scores]
"""
PRAISE = "subtracting the largest score leaves each weight as it is, and no exponential overflows."


def graded(folder, *cells, check="check_softmax(softmax)", seconds=60.0):
    return grade(Task("3.2", check, False, [IMPORT], cells), folder, seconds)


@pytest.mark.parametrize(
    "more",
    [
        "",
        "print('x' * 10**6)\nimport sys; sys.stderr.write('y' * 10**6)",
        "import os; os.write(1, b'z' * 10**6)",
        "from matplotlib import pyplot as plt; plt.plot([1]); plt.show()",
        "%time 1 + 1\n!true",
        "softmax?",
        "import asyncio; await asyncio.sleep(0)",
        "display(3)",
        "import sys; sys.exit(3)",
        "import threading, time; threading.Thread(target=time.sleep, args=[999]).start()",
        "import torch; torch.set_default_dtype(torch.float64)",
    ],
)
def test_law_a_right_answer_passes_whatever_else_it_does(tmp_path, capfd, more):
    assert graded(tmp_path, RIGHT, more) == (True, PRAISE)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("def softmax(scores): return [1.0] * len(scores)", "the result for "),
        ("def softmax(scores): raise NotImplementedError('your turn')", "your answer is still empty"),
        ("def softmax(scores): return scores[9]", "your code stopped with IndexError: list index out of"),
        ("def softmax(scores: return", "your code stopped with SyntaxError: "),
        ("def other(scores): return scores", "your code stopped with NameError: name 'softmax' is not de"),
        ("def softmax(scores): return input()", "your code stopped with "),
        (f"def softmax(scores): return scores\n{'x' * 9}", "A cell before it stopped with NameError: name '"),
        ("import os; os._exit(0)", "the answer ended Python with exit status 0."),
        ("import os; os._exit(3)", "the answer ended Python with exit status 3."),
        ("import ctypes; ctypes.string_at(0)", "the answer ended Python by signal SIGSEGV."),
        ("import os; os.kill(os.getpid(), 9)", "the answer ended Python by signal SIGKILL, perhaps for"),
    ],
)
def test_law_a_wrong_answer_or_a_crash_is_explained(tmp_path, cell, message):
    passed, said = graded(tmp_path, cell)
    assert not passed
    assert message in said


def test_law_what_the_check_returns_has_to_be_a_verdict(tmp_path):
    assert graded(tmp_path, check="len('abc')") == (False, "the check returned int, not a verdict.")


def test_law_an_endless_answer_is_stopped_with_all_that_it_started(tmp_path):
    started = time.monotonic()
    cell = "import os, subprocess, sys\npids = [os.getpid()]\n"
    cell += "pids += [subprocess.Popen([sys.executable, '-c', 'while True: pass']).pid]\n"
    cell += "with open('pids', 'w') as file: print(*pids, file=file)\nwhile True: pass"
    graded(tmp_path, RIGHT)  # the server has started
    passed, message = graded(tmp_path, cell, seconds=4.0)
    assert (passed, message[:29]) == (False, "no verdict after 4 seconds: t")
    assert time.monotonic() - started < 60
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    psutil = import_module("psutil")  # which has no types
    for _ in range(50):
        running = [pid for pid in pids if psutil.pid_exists(pid)]
        if all(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in running):
            break
        time.sleep(0.1)
    else:
        pytest.fail(f"{running} are still running")


def test_law_an_answer_reads_what_is_beside_its_notebook_and_leaves_nothing_for_the_next(tmp_path):
    (tmp_path / "mine.py").write_text(RIGHT, encoding="utf-8")
    cell = "from mine import softmax\nopen('mine.py').close()\nimport torch\ntorch.manual_seed(3)"
    assert graded(tmp_path, cell) == (True, PRAISE)
    assert graded(tmp_path, RIGHT, "import sys\nif 'mine' in sys.modules: softmax = 3") == (True, PRAISE)
    assert "mine" not in sys.modules
