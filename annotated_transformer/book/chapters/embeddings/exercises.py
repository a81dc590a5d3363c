"""Checks of the exercises of the chapter on embeddings (section 3.4 of the paper)."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, equal, nn

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import draw_normal
from annotated_transformer.book.exercises.rules import expect_without
from annotated_transformer.book.exercises.verdict import expect, expect_close, judge, plural
from annotated_transformer.model.embeddings import TokenEmbedding

SOURCE, TARGET, LABELS, VOCAB = (4, 7, 4, 2), (1, 5, 7), (5, 7, 2), 10


def _moved_rows() -> list[int]:
    """Count the rows with a gradient in a small model: the mean source row is added to each target row."""
    source, target, output = (draw_normal(seed, VOCAB, 6).requires_grad_() for seed in range(3))
    hidden = source[list(SOURCE)].mean(dim=0) + target[list(TARGET)]
    F.cross_entropy(hidden @ output.T, torch.tensor(LABELS)).backward()
    grads = [table.grad for table in (source, target, output) if table.grad is not None]
    return [int((grad != 0).any(dim=1).sum()) for grad in (*grads, sum(grads, torch.zeros(VOCAB, 6)))]


@predictions(
    put="a whole number",
    shows="a lookup gives a gradient to each distinct token that was read, "
    "the softmax to the whole vocabulary.",
)
def check_gradient_rows() -> Answers:
    """Judge the predicted numbers of rows, exercise ex-predict-rows."""
    source, target, output, shared = _moved_rows()
    everything = "the whole vocabulary is counted; a lookup moves only what it reads"
    return {
        "source": Answer(source, "A row that is read twice is still one row.",
            {"the row that is read twice is counted twice": len(SOURCE), everything: VOCAB}),
        "target": Answer(target, "Which tokens are read from it?",
            {"the labels are counted, too": len({*TARGET, *LABELS}), everything: VOCAB}),
        "output": Answer(output, "Which logits does the softmax divide by their sum?",
            {"only the labels are counted; the softmax lowers all other logits": len(LABELS)}),
        "shared": Answer(shared, "It is read, and it also gives the logits.",
            {"only tokens of the batch are counted": len({*SOURCE, *TARGET, *LABELS}),
            "the three counts are added; it is the same row": source + target + output}),
    }  # fmt: skip


@judge
def check_embed_and_logits(
    embed: Callable[[Tensor, Tensor], Tensor], logits: Callable[[Tensor, Tensor], Tensor]
) -> str:
    """Judge `embed(ids, table)` and `logits(hidden, table)`, exercise ex-embed-and-logits."""
    expect_without(embed, "torch.nn")
    expect_without(logits, "torch.nn")
    for vocab, d_model in ((7, 4), (5, 9)):
        table, hidden = draw_normal(1, vocab, d_model), draw_normal(2, 2, 3, d_model)
        ids = torch.tensor([[0, vocab - 1, 2], [2, 2, 1]])
        one_hot = F.one_hot(ids, vocab).double()
        with_sizes = f"with {plural(vocab, 'token')} and d_model={d_model}"
        rows, root = one_hot @ table, d_model**0.5
        mistakes = {
            "the factor √d_model is missing": rows,
            "the rows are divided by √d_model instead of multiplied": rows / root,
            "the factor is d_model instead of its root": rows * d_model,
        }
        what = f"the embedding {with_sizes}"
        expect_close(embed(ids, table), rows * root, what=what, tolerance=1e-9, mistakes=mistakes)
        wanted = torch.stack([(hidden * row).sum(dim=-1) for row in table], dim=-1)
        mistakes = {
            "the factor √d_model is used here, too; it belongs to the embeddings only": wanted * root,
            "the logits are divided by √d_model": wanted / root,
            "the softmax was applied already": wanted.softmax(dim=-1),
        }
        what = f"the tensor of logits {with_sizes}"
        expect_close(logits(hidden, table), wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "embeddings are rows times the root of the width, logits are dot products with the rows."


@judge
def check_lookup_gradient(answer: Callable[[Tensor, Tensor, int], Tensor]) -> str:
    """Judge `answer(ids, gradient, vocab)`, exercise ex-lookup-gradient, by automatic differentiation."""
    expect_without(answer, "autograd", "backward")
    for case, ids in {
        "all tokens different": [3, 0, 5],
        "a token read twice": [2, 4, 2],
        "one token read three times": [1, 1, 1],
    }.items():
        gradient, table = draw_normal(len(case), 3, 4), draw_normal(0, 7, 4).requires_grad_()
        (wanted,) = torch.autograd.grad(table[torch.tensor(ids)], table, gradient)
        result = answer(torch.tensor(ids), gradient, 7)
        last, mean = torch.zeros_like(wanted), wanted.clone()
        for token, row in zip(ids, gradient, strict=True):
            last[token] = row
            mean[token] = wanted[token] / ids.count(token)
        mistakes = {
            "only one of several updates of a row is kept": last,
            "the updates of a row are averaged; they should be added": mean,
            "these are the gradients of the rows that were read, not of the whole matrix": gradient,
        }
        expect_close(result, wanted, what=f"the gradient, {case},", tolerance=1e-9, mistakes=mistakes)
    return "it agrees with automatic differentiation, also where a token is read more than once."


@judge
def check_tie(answer: Callable[[nn.Embedding, nn.Linear], object]) -> str:
    """Judge `answer(embedding, output)`, exercise ex-debug-tie, by training the two modules."""
    embedding, output = nn.Embedding(7, 4).double(), nn.Linear(4, 7, bias=False).double()
    with torch.no_grad():
        embedding.weight.copy_(draw_normal(1, 7, 4))
        output.weight.copy_(draw_normal(2, 7, 4))
    answer(embedding, output)
    mistakes = {"the output's matrix is kept instead of the embedding's": draw_normal(2, 7, 4)}
    what = "after tie, the embedding's matrix"
    expect_close(embedding.weight, draw_normal(1, 7, 4), what=what, tolerance=0.0, mistakes=mistakes)
    tied = nn.ModuleList([embedding, output])
    count = sum(parameter.numel() for parameter in tied.parameters())
    optimizer = torch.optim.Adam(tied.parameters(), lr=0.1)
    output(embedding(torch.tensor([1, 2]))).square().sum().backward()
    optimizer.step()
    gap = (embedding.weight - output.weight).abs().max().item()
    expect(gap == 0, f"after one update, the two matrices differ by {gap:.2f}, so there are still two.")
    expect(
        count == 28,
        f"the two modules share memory, but they have {count} parameters; one matrix of 7 × 4 has 28.",
    )
    return "one parameter, two uses: they agree after an update as well."


@formula(
    *(
        (std, d_model, factor)
        for std, d_model in ((0.1, 256), (1.0, 512), (64**-0.5, 64))
        for factor in (True, False)
    ),
    shows="sine and cosine have a mean square of ½, hence the root of 2.",
    shown=2,
)
def check_rms_ratio(std: float, d_model: int, factor: bool) -> Answer:
    """Judge `answer(std, d_model, factor)`, exercise ex-derive-rms-ratio."""
    root = math.sqrt(d_model) if factor else 1.0
    mistakes = {
        "the RMS of a position is taken to be 1": std * root,
        "the word is divided by √d_model instead of multiplied": std / root * math.sqrt(2),
        "the factor is d_model instead of its root": std * root**2 * math.sqrt(2),
        "the factor is always used": std * math.sqrt(2 * d_model),
        "the mean square of a position, ½, is not turned into a root": 2 * std * root,
        "this is the ratio of the mean squares": 2 * (std * root) ** 2,
    }
    return Answer(std * root * math.sqrt(2), "Compare the roots of both mean squares.", mistakes, 0.005)


@judge
def check_grow(answer: Callable[[TokenEmbedding, int], TokenEmbedding]) -> str:
    """Judge `answer(embedding, extra)`, exercise ex-grow."""
    old = TokenEmbedding(7, 4).double()
    with torch.no_grad():
        old.weight.copy_(draw_normal(1, 7, 4))
    before, hidden = old.weight.detach().clone(), draw_normal(2, 3, 4)
    logits = (hidden @ before.T).detach()
    grown = answer(old, 2)
    kind = type(grown).__name__
    expect(isinstance(grown, TokenEmbedding), f"the result should be a TokenEmbedding, not {kind}.")
    expect(equal(old.weight, before), "the old matrix has changed; leave it as it was.")
    shape = tuple(grown.weight.shape)
    expect(shape == (9, 4), f"for 7 + 2 tokens of width 4, the matrix should have shape (9, 4), not {shape}.")
    expect(
        isinstance(grown.weight, nn.Parameter) and grown.weight.requires_grad and grown.weight.is_leaf,
        "the new matrix is not a parameter that can be trained.",
    )
    wanted = torch.cat([logits, logits.mean(dim=1, keepdim=True).expand(-1, 2)], dim=1)
    mistakes = {
        "the new rows are zeros": torch.cat([logits, torch.zeros_like(logits[:, :2])], dim=1),
        "the new rows come first": wanted.roll(2, dims=1),
        "the new rows are the sum of the old ones, not their mean": torch.cat(
            [logits, logits.sum(dim=1, keepdim=True).expand(-1, 2)], dim=1
        ),
    }
    what = "the tensor of logits for all nine tokens"
    expect_close(grown.logits(hidden), wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    with torch.no_grad():
        grown.weight.add_(1)
    expect(equal(old.weight, before), "an update of the new matrix changes the old one.")
    return "old tokens keep their logits, and the new ones start with the mean logit."
