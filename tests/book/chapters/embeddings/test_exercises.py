"""The checks of the exercises on embeddings reject wrong answers."""

import math

import torch
from torch import nn

from annotated_transformer.book.chapters.embeddings.exercises import (
    check_embed_and_logits,
    check_gradient_rows,
    check_grow,
    check_lookup_gradient,
    check_rms_ratio,
    check_tie,
)
from annotated_transformer.model.embeddings import TokenEmbedding

ROWS = {"source": 3, "target": 3, "output": 10, "shared": 10}


def embed(ids, table):
    return table[ids] * math.sqrt(table.size(1))


def logits(hidden, table):
    return hidden @ table.T


def lookup_gradient(ids, gradient, vocab):
    return torch.zeros(vocab, gradient.size(1)).double().index_add_(0, ids, gradient)


def last_one_wins(ids, gradient, vocab):
    found = torch.zeros(vocab, gradient.size(1)).double()
    found[ids] += gradient
    return found


def tie(embedding, output):
    output.weight = embedding.weight


def copy(embedding, output):
    output.weight.data = embedding.weight.data.clone()


def share_memory(embedding, output):
    output.weight.data = embedding.weight.data


def tie_to_the_output(embedding, output):
    embedding.weight = output.weight


def ratio(std, d_model, factor):
    return std * (math.sqrt(d_model) if factor else 1) * math.sqrt(2)


def grown_with(new, *, parameter=True):
    def grow(embedding, extra):
        old = embedding.weight.detach()
        grown = TokenEmbedding(len(old) + extra, old.size(1))
        rows = torch.cat([old, new(old, extra)])
        grown.weight = nn.Parameter(rows, requires_grad=parameter)
        return grown

    return grow


def mean_rows(old, extra):
    return old.mean(dim=0).expand(extra, -1)


def grow_in_place(embedding, extra):
    old = embedding.weight.detach()
    embedding.weight = nn.Parameter(torch.cat([old, mean_rows(old, extra)]))
    return embedding


def grow_in_shared_memory(embedding, extra):
    grown = grown_with(mean_rows)(embedding, extra)
    embedding.weight.data = grown.weight.data[:-extra]
    return grown


def embed_by_product(ids, table):
    return (ids[..., None] == torch.arange(len(table))).to(table.dtype) @ table * table.size(1) ** 0.5


def grown_by_rows(embedding, extra):
    grown = TokenEmbedding(embedding.weight.size(0) + extra, embedding.weight.size(1)).to(embedding.weight)
    with torch.no_grad():
        grown.weight[:-extra] = embedding.weight
        grown.weight[-extra:] = embedding.weight.mean(dim=0)
    return grown


RIGHT = {
    check_gradient_rows: [ROWS, {name: float(count) for name, count in ROWS.items()}],
    check_embed_and_logits: [
        (embed, logits),
        (embed_by_product, lambda hidden, table: torch.einsum("btd,vd->btv", hidden, table)),
    ],
    check_lookup_gradient: [
        lookup_gradient,
        lambda ids, gradient, vocab: (torch.arange(vocab)[:, None] == ids).double() @ gradient,
    ],
    check_tie: [tie, lambda embedding, output: output.register_parameter("weight", embedding.weight)],
    check_rms_ratio: [ratio, lambda std, d, factor: torch.tensor(2 * std**2 * (d if factor else 1)).sqrt()],
    check_grow: [grown_with(mean_rows), grown_by_rows],
}


WRONG = {
    check_gradient_rows: [
        ("4 is not the number of rows with a gradient in the source", ROWS | {"source": 4}),
        ("3 is not the number of rows with a gradient in the output", ROWS | {"output": 3}),
        ("5 is not the number of rows with a gradient in the shared", ROWS | {"shared": 5}),
    ],
    check_embed_and_logits: [
        ("the factor √d_model is missing", lambda ids, table: table[ids], logits),
        (
            "the factor √d_model is used here, too",
            embed,
            lambda hidden, table: logits(hidden, table) * table.size(1) ** 0.5,
        ),
    ],
    check_lookup_gradient: [
        ("only one of several updates of a row is kept", last_one_wins),
        ("these are the gradients of the rows that were read, not", lambda ids, gradient, vocab: gradient),
    ],
    check_tie: [
        ("after one update, the two matrices differ by 0.20, so", copy),
        ("the two modules share memory, but they have 56 parameters;", share_memory),
        ("the output's matrix is kept instead of the embedding's", tie_to_the_output),
    ],
    check_rms_ratio: [
        (
            "the RMS of a position is taken to be 1",
            lambda std, d, factor: ratio(std, d, factor) / math.sqrt(2),
        ),
        (
            "the word is divided by √d_model instead of multiplied",
            lambda std, d, factor: std / (math.sqrt(d) if factor else 1) * math.sqrt(2),
        ),
    ],
    check_grow: [
        ("the new rows are zeros", grown_with(lambda old, extra: torch.zeros(extra, old.size(1)).double())),
        ("the new matrix is not a parameter that can be trained", grown_with(mean_rows, parameter=False)),
        ("the old matrix has changed", grow_in_place),
        ("an update of the new matrix changes the old one", grow_in_shared_memory),
    ],
}
