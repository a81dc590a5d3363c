"""A saved model in NumPy: weights from `model.safetensors`, shape from `config.json`, and a forward pass.

It reads one sentence at a time, so nothing is padded, and it has no cache. PyTorch is not used.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from safetensors.numpy import load_file

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.text.sentence_pairs import find_file

Array = NDArray[np.floating]
Mask = NDArray[np.bool_]
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * (1 + np.vectorize(math.erf, [x.dtype])(x / math.sqrt(2))) / 2,
}


@refuses_other_kinds
class NumpyModel:
    """The model in a folder that `train`, `save`, or `to_safetensors` wrote, in float32 or float64."""

    def __init__(self, folder: str | Path, dtype: DTypeLike = np.float32) -> None:
        """Read the config and the weights, and convert these to the type to compute in.

        Raises:
            ValueError: If the folder needs other code, such as an attention that was registered.
        """
        self.config = json.loads(find_file(Path(folder), "config.json").read_text("utf-8"))
        if code := self.config.get("code"):
            raise ValueError(
                f"{folder} needs the code {' and '.join(code.values())}, which NumpyModel does not have; "
                f"load it by load, with that code"
            )
        stored = load_file(Path(folder, "model.safetensors"))
        self.weights: dict[str, Array] = {name: array.astype(dtype) for name, array in stored.items()}

    @classmethod
    def from_weights(cls, config: dict[str, Any], weights: dict[str, Array]) -> "NumpyModel":
        """Return the model of a config and of weights in memory, under their names in the file."""
        model = cls.__new__(cls)
        model.config, model.weights = config, weights
        return model

    def __call__(self, src: list[int], tgt: list[int]) -> Array:
        """Return the logits of the token after each one of `tgt`, which begins with BOS."""
        x, y, causal = self.embed(src), self.embed(tgt), np.tri(len(tgt), dtype=bool)
        for i in range(self.config["num_layers"]):
            x = self.residual(f"encoder.layers.{i}", 1, "self_attention", x)
            x = self.residual(f"encoder.layers.{i}", 2, "feed_forward", x)
        memory = self.norm("encoder.final_norm", x)
        for i in range(self.config["num_layers"]):
            y = self.residual(f"decoder.layers.{i}", 1, "self_attention", y, mask=causal)
            y = self.residual(f"decoder.layers.{i}", 2, "cross_attention", y, memory)
            y = self.residual(f"decoder.layers.{i}", 3, "feed_forward", y)
        tied = self.weights["embedding.weight"]
        output = self.weights.get("output.weight", tied)
        logits = self.norm("decoder.final_norm", y) @ output.T
        return logits + self.weights.get("output_bias", 0.0)

    def embed(self, ids: list[int]) -> Array:
        """Return scaled embeddings plus positions (3.4 and 3.5)."""
        embedded = self.weights["embedding.weight"][ids] * math.sqrt(self.config["d_model"])
        table = self.weights.get("positions.table", sinusoidal_table(*embedded.shape))
        return embedded + table[: len(ids)].astype(embedded.dtype)

    def residual(
        self, layer: str, i: int, part: str, x: Array, memory: Array | None = None, mask: Mask | None = None
    ) -> Array:
        """Return Add & Norm number `i` of a layer, around one of its parts; the norm is last or first."""
        norm, pre = f"{layer}.add_norm_{i}.norm", self.config["norm"] == "pre"
        h = self.norm(norm, x) if pre else x
        if part == "feed_forward":
            h = ACTIVATIONS[self.config["activation"]](self.linear(f"{layer}.{part}.expand", h))
            h = self.linear(f"{layer}.{part}.contract", h)
        else:
            h = self.attend(f"{layer}.{part}", h, h if memory is None else memory, mask)
        return x + h if pre else self.norm(norm, x + h)

    def attend(self, name: str, x: Array, memory: Array, mask: Mask | None) -> Array:
        """Return what each token of `x` reads from `memory` in all heads (3.2)."""

        def project(part: str, tokens: Array) -> Array:
            projected = self.linear(f"{name}.to_{part}", tokens)
            by_head = projected.reshape(len(tokens), self.config["num_heads"], -1)
            return by_head.swapaxes(0, 1)  # heads first

        q, k, v = project("query", x), project("key", memory), project("value", memory)
        scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
        scores = scores if mask is None else np.where(mask, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads = weights / weights.sum(axis=-1, keepdims=True) @ v
        return self.linear(f"{name}.to_output", heads.swapaxes(0, 1).reshape(len(x), -1))

    def linear(self, name: str, x: Array) -> Array:
        """Return a linear map, with its bias if there is one."""
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0.0)

    def norm(self, name: str, x: Array) -> Array:
        """Return each token centered and scaled (5.4), or as it is if there is no such norm."""
        if f"{name}.gain" not in self.weights:
            return x
        centered = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(np.square(centered).mean(axis=-1, keepdims=True) + 1e-5)
        return self.weights[f"{name}.gain"] * centered / deviation + self.weights[f"{name}.bias"]


def sinusoidal_table(length: int, d_model: int) -> Array:
    """Return the paper's positional encoding: a sine and a cosine of each angle, side by side (3.5)."""
    angle = np.arange(length)[:, None] / 10_000 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, -1)
