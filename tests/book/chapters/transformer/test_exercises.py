"""The checks of the exercises on the whole Transformer reject wrong answers."""

import torch

from annotated_transformer.book.chapters.transformer import exercises as checks
from tests.solutions import Solutions

solved = Solutions("transformer")
edited = solved.edited


def with_buffers(model):
    return solved.count_weights(model) + sum(buffer.numel() for buffer in model.buffers())


def by_state(model):
    return sum(tensor.numel() for tensor in model.state_dict().values())


RIGHT = {"unique_count": [lambda model: torch.tensor(sum(p.numel() for p in set(model.parameters())))]}
LOW, HIGH = "-(-low // d)", "-(-high // d) - 1"
PAIRED = "z = layer(z)", "z = [*z, layer(z[-1])] if isinstance(z, list) else [layer(z)]"
WRONG = {
    "pass_shapes": [
        ("There is one row for each source token", checks.PREDICTED | {"z": (5, 512)}),
        ("rows are queries, from the target", checks.PREDICTED | {"cross-attention weights": (8, 7, 5)}),
        ("'z' should be a shape, such as (2, 3), not str.", checks.PREDICTED | {"z": "(7, 512)"}),
        ("'z' should be a shape, such as (2, 3), not int.", checks.PREDICTED | {"z": 512}),
    ],
    "assembled": [
        ("the encoder layer beside it", edited("assemble", *PAIRED, "layer(y, z)", "layer(y, z.pop(0))")),
        ("the decoder reads the embeddings of the source", edited("assemble", "y, z)", "y, embed(src))")),
    ],
    "unique_count": [
        ("buffers count", with_buffers),
        ("a shared matrix counts once for each of its names", by_state),
    ],
    "interval": [
        ("A part of a token is not enough:", edited("fitting", LOW, "low // d", HIGH, "high // d")),
        ("which rounds to 2", edited("fitting", LOW, "(low + 1) // d + 1")),
        ("A part of a token is not enough:", edited("fitting", LOW, f"{LOW} - 1")),
        ("41,794 tokens make 65,500,160 parameters, which does", edited("fitting", HIGH, "-(-high // d)")),
        ("41,793 tokens make 65,499,648 parameters, which rounds to", edited("fitting", HIGH, f"{HIGH} - 1")),
    ],
    "decoder_only": [
        ("the output has a matrix of its own", edited("gpt_size", "(vocab + pos", "(2 * vocab + pos")),
        ("the biases of the linear maps are missing", edited("gpt_size", "13 * d", "4 * d")),
    ],
}
