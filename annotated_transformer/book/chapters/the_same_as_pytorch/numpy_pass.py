"""The model's forward pass in NumPy, from nothing but a safetensors file: a page of code."""

from typing import Any

import numpy as np

Array = Any
Weights = dict[str, Array]


def norm(x: Array, w: Weights, name: str) -> Array:
    """Return each token normalized, in float64."""
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    return w[f"{name}.norm.gain"] * x + w[f"{name}.norm.bias"]


def attend_heads(
    x: Array,
    memory: Array,
    w: Weights,
    name: str,
    heads: int,
    causal: bool,
) -> Array:
    """Return multi-head attention of one sentence; matrices are outputs × inputs."""

    def project(tokens: Array, part: str) -> Array:
        projected = tokens @ w[f"{name}.to_{part}.weight"].T
        return projected.reshape(len(tokens), heads, -1).swapaxes(0, 1)  # heads first

    q, k, v = project(x, "query"), project(memory, "key"), project(memory, "value")
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    joined = (weights @ v).swapaxes(0, 1).reshape(len(x), -1)
    return joined @ w[f"{name}.to_output.weight"].T


def network(x: Array, w: Weights, name: str) -> Array:
    """Return the feed-forward network with ReLU."""
    hidden = x @ w[f"{name}.expand.weight"].T + w[f"{name}.expand.bias"]
    return np.maximum(hidden, 0) @ w[f"{name}.contract.weight"].T + w[f"{name}.contract.bias"]


def embed(ids: list[int], w: Weights) -> Array:
    """Return scaled embeddings plus sines and cosines in pairs."""
    x = w["embedding.weight"][ids]
    place, feature = np.arange(len(ids))[:, None], np.arange(x.shape[1])
    angle = place / 10_000 ** (feature // 2 * 2 / x.shape[1])
    return x * np.sqrt(x.shape[1]) + np.where(feature % 2, np.cos(angle), np.sin(angle))


def numpy_logits(
    src: list[int],
    tgt: list[int],
    w: Weights,
    layers: int,
    heads: int,
) -> Array:
    """Return the logits after each target token, for one sentence without padding."""
    m, x = embed(src, w), embed(tgt, w)
    for place in (f"encoder.layers.{i}" for i in range(layers)):
        new = attend_heads(m, m, w, f"{place}.self_attention", heads, False)
        m = norm(m + new, w, f"{place}.add_norm_1")
        m = norm(m + network(m, w, f"{place}.feed_forward"), w, f"{place}.add_norm_2")
    for place in (f"decoder.layers.{i}" for i in range(layers)):
        new = attend_heads(x, x, w, f"{place}.self_attention", heads, True)
        x = norm(x + new, w, f"{place}.add_norm_1")
        new = attend_heads(x, m, w, f"{place}.cross_attention", heads, False)
        x = norm(x + new, w, f"{place}.add_norm_2")
        x = norm(x + network(x, w, f"{place}.feed_forward"), w, f"{place}.add_norm_3")
    return x @ w["embedding.weight"].T


def greedy(src: list[int], w: Weights, layers: int, heads: int, limit: int = 50) -> list[int]:
    """Return the likeliest next token again and again, until the end."""
    tgt = [1]
    while tgt[-1] != 2 and len(tgt) < limit:
        scores = numpy_logits(src, tgt, w, layers, heads)[-1]
        scores[:2] = -np.inf  # never padding or the beginning again
        tgt.append(int(scores.argmax()))
    return tgt[1:]
