"""The checks of the exercises on embeddings reject wrong answers."""

import torch

from annotated_transformer.model.embeddings import TokenEmbedding
from tests.solutions import Solutions

solved = Solutions("embeddings")
edited = solved.edited
ROWS = {"source": 3, "target": 3, "output": 10, "shared": 10}


def last_one_wins(ids, gradient, vocab):
    found = torch.zeros(vocab, gradient.size(1)).double()
    found[ids] += gradient
    return found


def copy(embedding, output):
    output.weight.data = embedding.weight.data.clone()


def share_memory(embedding, output):
    output.weight.data = embedding.weight.data


def tie_to_the_output(embedding, output):
    embedding.weight = output.weight


def grow_in_place(embedding, extra):
    embedding.weight = solved.grow(embedding, extra).weight
    return embedding


def grow_in_shared_memory(embedding, extra):
    grown = solved.grow(embedding, extra)
    embedding.weight.data = grown.weight.data[:-extra]
    return grown


def grown_by_rows(embedding, extra):
    grown = TokenEmbedding(embedding.weight.size(0) + extra, embedding.weight.size(1)).to(embedding.weight)
    with torch.no_grad():
        grown.weight[:-extra] = embedding.weight
        grown.weight[-extra:] = embedding.weight.mean(dim=0)
    return grown


RIGHT = {
    "tie": [lambda embedding, output: output.register_parameter("weight", embedding.weight)],
    "grow": [grown_by_rows],
}
MEAN, PARAMETER = "old.mean(dim=0)", "torch.cat([old, new])"
WRONG = {
    "gradient_rows": [
        ("4 is not the number of rows with a gradient in the source", ROWS | {"source": 4}),
        ("3 is not the number of rows with a gradient in the output", ROWS | {"output": 3}),
        ("5 is not the number of rows with a gradient in the shared", ROWS | {"shared": 5}),
    ],
    "embed_and_logits": [
        ("factor √d_model is missing", lambda ids, table: table[ids], lambda *given: solved.logits(*given)),
        (
            "the factor √d_model is used here, too",
            lambda *given: solved.embed(*given),
            lambda hidden, table: solved.logits(hidden, table) * table.size(1) ** 0.5,
        ),
    ],
    "lookup_gradient": [
        ("only one of several updates of a row is kept", last_one_wins),
        ("these are the gradients of the rows that were read, not", lambda ids, gradient, vocab: gradient),
    ],
    "tie": [
        ("after one update, the two matrices differ by 0.20, so", copy),
        ("the two modules share memory, but they have 56 parameters;", share_memory),
        ("the output's matrix is kept instead of the embedding's", tie_to_the_output),
    ],
    "rms_ratio": [
        ("the RMS of a position is taken to be 1", edited("ratio", " * math.sqrt(2)", "")),
        ("the word is divided by √d_model instead", edited("ratio", "std * (", "std / (")),
    ],
    "grow": [
        ("the new rows are zeros", edited("grow", MEAN, f"0 * {MEAN}")),
        ("not a parameter", edited("grow", PARAMETER, f"{PARAMETER}, requires_grad=False")),
        ("the old matrix has changed", grow_in_place),
        ("an update of the new matrix changes the old one", grow_in_shared_memory),
    ],
}
