"""A reader's own Transformer: right files translate in the end, mistakes are found, nothing gets through."""

from pathlib import Path
from typing import Any

import pytest
import torch

from annotated_transformer.book.exercises.verdict import Unmet
from annotated_transformer.book.from_scratch import whole_transformer
from annotated_transformer.book.from_scratch.checking import Steps, checked, graded, translations
from annotated_transformer.book.from_scratch.code import EMPTY, Code, Here, Process
from annotated_transformer.book.from_scratch.outline import OUTLINE
from annotated_transformer.book.from_scratch.steps import STEPS, Draws
from builder.source import parsed

SOURCE = Path(__file__).parents[2] / "chapters" / "src" / "build_it_yourself.md"

ADAPTERS = """

def embed(ids, table):
    return table[ids] * math.sqrt(table.size(1)) + positions(ids.size(1), table.size(1))


class Stacked(nn.Module):
    def __init__(self, kind, num_layers, *sizes):
        super().__init__()
        self.layers = nn.ModuleList(kind(*sizes) for _ in range(num_layers))

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return x


def Encoder(*sizes):
    return Stacked(EncoderLayer, *sizes)


def Decoder(*sizes):
    return Stacked(DecoderLayer, *sizes)


def adam_step(weight, gradient, m, v, step, lr):
    m, v = 0.9 * m + 0.1 * gradient, 0.98 * v + 0.02 * gradient**2
    m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.98**step)
    return weight - lr * m_hat / (v_hat.sqrt() + 1e-9), m, v


train_with = train


def train(model, batches, d_model, warmup_steps, smoothing):
    return train_with(model, batches, warmup_steps, smoothing)
"""
RIGHT = Path(whole_transformer.__file__).read_text("utf-8") + ADAPTERS
MISTAKES = {  # the step, what is replaced, by what, and words of the verdict ("" if it names no mistake)
    "scale": (1, " / math.sqrt(query.size(-1))", "", "not divided by √d_k"),
    "after the softmax": (
        1,
        "scores.masked_fill(~mask, -math.inf).softmax(dim=-1)",
        "scores.softmax(dim=-1)",
        "after the softmax",
    ),
    "blind": (1, "weights.masked_fill(~mask, 0.0) @ value", "weights @ value", "NaN"),
    "large": (
        1,
        "-math.inf).softmax(dim=-1)\n    return weights.masked_fill(~mask, 0.0)",
        "-1e9).softmax(dim=-1)\n    return weights",
        "large negative number",
    ),
    "no transpose": (
        2,
        "x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)",
        "x.reshape(x.size(0), self.num_heads, x.size(1), -1)",
        "reshape without a transpose",
    ),
    "no output": (
        2,
        "return self.to_output(heads.transpose(1, 2).flatten(2))",
        "return heads.transpose(1, 2).flatten(2)",
        "output projection is missing",
    ),
    "inverted": (3, "(ids != PAD)", "(ids == PAD)", "True where it should hide"),
    "diagonal": (3, "places <= places", "places < places", "may not attend to itself"),
    "halves": (
        4,
        "torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)",
        "torch.cat([angle.sin(), angle.cos()], dim=-1)",
        "all sines come first",
    ),
    "unscaled": (4, "table[ids] * math.sqrt(table.size(1))", "table[ids]", "not multiplied by √d_model"),
    "unbiased": (5, "centered.square().mean(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True)", "d − 1"),
    "epsilon": (5, "(variance + 1e-5).sqrt()", "(variance.sqrt() + 1e-5)", "to the standard deviation"),
    "pre-norm": (
        5,
        "self.norm(x + self.dropout(sublayer(x)))",
        "x + self.dropout(sublayer(self.norm(x)))",
        "pre-norm",
    ),
    "linear": (6, "self.expand(x).relu()", "self.expand(x)", "ReLU is missing"),
    "late": (6, "self.contract(self.expand(x).relu())", "self.contract(self.expand(x)).relu()", "comes last"),
    "unmasked": (
        7,
        "self.self_attention(x, x, x, mask))\n        return self.add_norm_2(x, self.feed",
        "self.self_attention(x, x, x, mask | True))\n        return self.add_norm_2(x, self.feed",
        "mask is not used",
    ),
    "one layer": (
        7,
        "for layer in self.layers:\n            x = layer(x, *others)\n        return x\n\n\ndef Enc",
        "for _ in self.layers:\n            x = self.layers[0](x, *others)\n        return x\n\n\ndef Enc",
        "weights of the first",
    ),
    "target twice": (
        8,
        "self.cross_attention(x, z, z, src_mask)",
        "self.cross_attention(x, x, x, mask)",
        "reads the target",
    ),
    "source shown": (
        8,
        "self.cross_attention(x, z, z, src_mask)",
        "self.cross_attention(x, z, z, src_mask | True)",
        "source's padding is visible",
    ),
    "probabilities": (
        9,
        "x @ self.embedding.weight.T",
        "(x @ self.embedding.weight.T).softmax(-1)",
        "probabilities",
    ),
    "shown to the decoder": (
        9,
        "self.encode(src), padding_mask(src))",
        "self.encode(src), padding_mask(src) | True)",
        "decoder does not hide",
    ),
    "padding counted": (10, "losses[labels != PAD].mean()", "losses.mean()", "padding is counted"),
    "others": (
        10,
        "log_probs.mean(dim=-1)",
        "(log_probs.sum(-1) - of_label) / (log_probs.size(-1) - 1)",
        "V − 1 others",
    ),
    "no correction": (11, "m / (1 - 0.9**step), v / (1 - 0.98**step)", "m, v", "not corrected"),
    "from 0": (
        11,
        "min(step**-0.5, step * warmup",
        "min((step + 1)**-0.5, (step + 1) * warmup",
        "counted from 0",
    ),
    "no shift": (12, "model(src, tgt[:, :-1])", "model(src, tgt[:, 1:])", "no shift"),
    "zero_grad": (12, "        adam.zero_grad()\n", "", "zero_grad"),
    "with the start": (13, "return tgt[:, 1:]", "return tgt", "start symbol is a part"),
    "no dropout": (5, "self.norm(x + self.dropout(sublayer(x)))", "self.norm(x + sublayer(x))", "no dropout"),
    "dropout of the sum": (
        5,
        "self.norm(x + self.dropout(sublayer(x)))",
        "self.norm(self.dropout(x + sublayer(x)))",
        "applied to the sum",
    ),
    "late rate": (12, "enumerate(batches, start=1)", "enumerate(batches, start=2)", "rate of step 2"),
    "start chosen": (13, "[PAD, BOS]", "[PAD]", "start symbol may be chosen"),
    "padding limits": (
        13,
        "(src != PAD).sum(dim=1)",
        "(src != -1).sum(dim=1)",
        "counts the source's padding",
    ),
    "no end": (13, "writing & (token != EOS) & (", "writing & (", "goes on after"),
}


def code_of(source: str) -> Here:
    names: dict[str, Any] = {}
    exec(compile(source, "mine.py", "exec"), names)
    return Here(names)


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def verdicts(code: Code, seed: int = 0) -> list[tuple[int, bool, str]]:
    return [(step.number, right, said) for step, right, said in checked(code, seed)]


@pytest.mark.usefixtures("unchecked")
def test_law_the_book_s_file_passes_all_steps_and_translates(tmp_path: Path):
    path = tmp_path / "mine.py"
    path.write_text(RIGHT, "utf-8")
    with Process(path, 120.0) as code:
        found = verdicts(code)
        assert [(number, right) for number, right, _ in found] == [(step.number, True) for step in STEPS], (
            found
        )
        assert [own == other for _, own, other in translations(code)] == [True] * 5


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("seed", range(3))
def test_law_a_right_file_passes_whatever_the_seed(seed: int):
    code = code_of(RIGHT)
    for step in STEPS:
        if step.names != "train":  # takes seconds
            step.check(code, Draws(seed))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", MISTAKES)
def test_message_a_mistake_is_found_in_its_step_and_named(name: str):
    number, old, new, said = MISTAKES[name]
    assert RIGHT.count(old) >= 1
    with pytest.raises(Unmet, match=said):
        STEPS[number - 1].check(code_of(RIGHT.replace(old, new)), Draws(number))


FUSED = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h, self.qkv = num_heads, nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask):
        parts = zip((query, key, value), self.qkv.weight.chunk(3))
        q, k, v = (torch.einsum("bnd,hkd->bhnk", x, w.view(self.h, -1, w.size(1))) for x, w in parts)
        return self.out(attention(q, k, v, mask).permute(0, 2, 1, 3).reshape(query.shape))


def own_names(tensors):
    found = {}
    for name, tensor in tensors.items():
        if name.endswith("to_query.weight"):
            start = name.removesuffix("to_query.weight")
            parts = [tensors[f"{start}to_{part}.weight"] for part in ("query", "key", "value")]
            found[start + "qkv.weight"] = torch.cat(parts)
            found[start + "out.weight"] = tensors[start + "to_output.weight"]
        elif ".to_" not in f".{name}":
            found[name] = tensor
    return found
"""


@pytest.mark.usefixtures("unchecked")
def test_law_a_file_in_another_style_passes_by_its_own_names():
    code = code_of(RIGHT + FUSED)
    for number in (2, 7, 8, 9, 13):
        STEPS[number - 1].check(code, Draws(number))
    assert [own == other for _, own, other in translations(code)] == [True] * 5


HOSTILE = {
    "while True:\n    pass": "did not answer within 8 seconds",
    "import sys; sys.exit(0)": "SystemExit",
    "import os; os._exit(0)": "ended Python",
    "x = bytearray(10**11)": "MemoryError",
    "def attention(*args): return bytes(10**11)": "MemoryError",
    "import torch; torch.set_default_dtype(torch.float16)": "changes torch's defaults",
    "import annotated_transformer": "imports annotated_transformer",
    "def attention(": "SyntaxError",
    "import safetensors.torch; safetensors.torch.save = lambda *args: b''": "cannot be read",
    "import torch; torch.allclose = lambda *args: True\ndef attention(*args): return args[0]": "should",
    "def attention(q, k, v, mask):\n    return q @ k": r"RuntimeError[\s\S]*line 2, in attention",
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("source", HOSTILE)
def test_message_whatever_a_file_does_one_clear_line_says_so(source: str, tmp_path: Path):
    path = tmp_path / "mine.py"
    path.write_text(source, "utf-8")
    with pytest.raises(Unmet, match=HOSTILE[source]), Process(path, 8.0) as code:
        STEPS[0].check(code, Draws(1))


@pytest.mark.usefixtures("unchecked")
def test_law_each_step_of_a_file_is_graded_whatever_came_before_it(tmp_path: Path):
    path = tmp_path / "mine.py"
    path.write_text(RIGHT.replace("places <= places", "exit()").replace("adam.step()", "while 1: 0"), "utf-8")
    found = {number: right for number, right, _ in graded(path, 20.0, seed=1)}
    assert found == {str(step.number): step.number not in (3, 9, 12, 13) for step in STEPS}


def test_law_the_notebook_has_the_outline_step_by_step():
    cells = [cell.source for cell in parsed(SOURCE.read_text("utf-8")).cells if cell.source.startswith("# ")]
    steps = [cell.partition("\n\n\nsteps.check(")[0] for cell in cells if "steps.check(" in cell]
    assert OUTLINE.format(name="").split("\n\n\n# ", 1)[1] == "\n\n\n".join(steps).removeprefix("# ") + "\n"


@pytest.mark.usefixtures("unchecked")
def test_law_a_notebook_judges_its_own_objects():
    names: dict[str, Any] = {}
    exec(OUTLINE.format(name=""), names)
    steps = Steps(names, seed=5)
    for step in STEPS:
        said = f" {EMPTY} Chapter {int(step.chapter[:2])} teaches it."
        assert steps.check(step.number).message.endswith(said)
    exec(RIGHT, names)
    verdict = steps.check(12)
    assert verdict.passed
    assert verdict.message.endswith("(seed 5)")
    assert steps.losses["yours"] == pytest.approx(steps.losses["the book's"], rel=1e-6)
    assert steps.translate().message.count(" → ") == 5
    exec("def attention(query, key, value, mask):\n    return query @ key", names)
    assert not steps.check(1)
    assert "line 2 of your answer, in attention" in steps.check(1).message
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.usefixtures("unchecked")
def test_law_a_matrix_that_is_tied_to_the_embedding_needs_no_weights_of_its_own():
    tied = RIGHT.replace("x @ self.embedding.weight.T", "self.output(x)").replace(
        "        layers = range(num_layers)\n",
        "        layers = range(num_layers)\n"
        "        self.output = nn.Linear(d_model, vocab_size, bias=False)\n"
        "        self.output.weight = self.embedding.weight\n",
    )
    assert tied.count("self.output") == 3
    STEPS[8].check(code_of(tied), Draws(0))


@pytest.mark.usefixtures("unchecked")
def test_message_weights_that_do_not_fit_are_named_on_both_sides():
    wrong = RIGHT.replace(
        "self.expand, self.contract = nn.Linear(d_model, d_ff)",
        "self.expand, self.w2 = nn.Linear(d_model, d_ff, bias=False)",
    )
    said = r"contract.weight, missing in yours and .* in the book's.*w2.weight, \(\d, \d\) in yours"
    with pytest.raises(Unmet, match=said):
        STEPS[5].check(code_of(wrong), Draws(0))
