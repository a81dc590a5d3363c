"""The thirteen steps of *Build it yourself*, and how each is checked.

A check draws sizes and numbers anew, compares with the package in float64, and adds a law that needs no
reference. If the result is what a common mistake gives, the verdict names it.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.book.exercises.inputs import mistaken_attention
from annotated_transformer.book.exercises.verdict import Unmet, expect, expect_close, expect_number
from annotated_transformer.book.from_scratch import whole_transformer
from annotated_transformer.book.from_scratch.code import Code, Here, ReadersModule
from annotated_transformer.book.toy.reordered import padded_ids, reordered_pairs, reordered_vocabulary
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.model.decoder import Decoder, DecoderLayer
from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.loss import label_smoothed_cross_entropy
from annotated_transformer.model.masks import causal_mask, decoder_mask, padding_mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import AddNorm, LayerNorm, PostNorm, PreNorm
from annotated_transformer.model.positional_encoding import sinusoids
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.schedule import learning_rate

CLOSE = 1e-9
UPDATES, HELD_OUT, ENOUGH = 400, 200, 190


class Draws:
    """Sizes, all different, and tensors, from one seed."""

    def __init__(self, seed: int) -> None:
        """Take the seed."""
        self.python, self.torch = random.Random(seed), torch.Generator().manual_seed(seed)

    def sizes(self, count: int) -> list[int]:
        """Return different sizes."""
        return self.python.sample((2, 3, 4, 5, 6, 7), count)

    def normal(self, *shape: int) -> Tensor:
        """Return normally distributed numbers."""
        return torch.randn(*shape, generator=self.torch, dtype=torch.float64)

    def ids(self, vocab_size: int, rows: int, tokens: int, *, first: int | None = None) -> Tensor:
        """Return ids of sentences that end with 2, padded: the first is the longest."""
        ids = torch.randint(3, vocab_size, (rows, tokens), generator=self.torch)
        for row in range(rows):
            length = tokens if row == 0 else self.python.randint(2, tokens - 1)
            ids[row, length - 1], ids[row, length:] = 2, 0
        if first is not None:
            ids[:, 0] = first
        return ids

    @torch.no_grad()
    def weights(self, module: nn.Module) -> dict[str, Tensor]:
        """Draw the weights of a module, and return them by their names."""
        for weight in module.double().eval().parameters():
            weight.copy_(0.5 * self.normal(*weight.shape))
        return module.state_dict()


def attention_step(code: Code, draw: Draws) -> str:
    """Equation 1, with a mask and a blind query."""
    queries, keys, d_k, d_v = draw.sizes(4)
    q, k, v = draw.normal(2, 3, queries, d_k), draw.normal(2, 3, keys, d_k), draw.normal(2, 3, keys, d_v)
    mask = torch.rand(queries, keys, generator=draw.torch) < 0.6
    mask[torch.arange(queries), torch.arange(queries) % keys] = True
    right = ScaledDotProductAttention()(q, k, v, mask)
    found = code.request("call", "attention", q, k, v, mask)
    expect_close(found, right, what="attention", tolerance=CLOSE, mistakes=mistaken_attention(q, k, v, mask))
    order = torch.randperm(keys, generator=draw.torch)
    turned = code.request("call", "attention", q, k[..., order, :], v[..., order, :], mask[:, order])
    expect_close(turned, right, what="attention with its keys in another order", tolerance=CLOSE)
    mask[-1] = False
    found = code.request("call", "attention", q, k, v, mask)
    expect(
        not torch.isnan(torch.as_tensor(found)).any(),
        "a query that may attend nowhere gets NaN, not zeros: a softmax of −∞ alone is 0 / 0.",
    )
    expect_close(
        found,
        ScaledDotProductAttention()(q, k, v, mask),
        tolerance=CLOSE,
        what="attention, if a query may attend nowhere,",
        mistakes={
            "masked scores are a large negative number, not −∞: a query that may attend nowhere gets the "
            "mean of all values, not zeros": torch.where(
                mask.any(-1, keepdim=True), right, v.mean(-2, keepdim=True)
            ),
        },
    )
    for gradient in code.request("gradients", "attention", draw.normal(*right.shape), q, k, v, mask):
        expect(bool(gradient.isfinite().all()), "a query that may attend nowhere makes gradients NaN.")
    return "softmax(QKᵀ/√d_k)V, with a mask, and zeros for a query that may attend nowhere"


def heads_step(code: Code, draw: Draws) -> str:
    """Multi-head attention."""
    heads, d_k, queries, keys = draw.sizes(4)
    d_model = heads * d_k
    ours = MultiHeadAttention(d_model, heads)
    tensors = draw.weights(ours)
    theirs = ReadersModule(code, "MultiHeadAttention", d_model, heads, tensors=tensors)
    query, key, value = (
        draw.normal(2, queries, d_model),
        draw.normal(2, keys, d_model),
        draw.normal(2, keys, d_model),
    )
    mask = torch.rand(2, 1, queries, keys, generator=draw.torch) < 0.6
    mask[..., 0] = True
    q, k, v = ours.to_query(query), ours.to_key(key), ours.to_value(value)
    split = [x.unflatten(-1, (heads, d_k)).transpose(1, 2) for x in (q, k, v)]
    wrong = [x.reshape(2, heads, -1, d_k) for x in (q, k, v)]
    read = ScaledDotProductAttention()
    joined = read(*split, mask).transpose(1, 2).flatten(2)
    expect_close(
        theirs(query, key, value, mask),
        ours(query, key, value, mask),
        what="multi-head attention",
        tolerance=CLOSE,
        mistakes={
            "the heads are cut by a reshape without a transpose": ours.to_output(
                read(*wrong, mask).transpose(1, 2).flatten(2)
            ),
            "the heads are joined by a reshape without a transpose back": ours.to_output(
                read(*split, mask).reshape(2, queries, d_model)
            ),
            "the output projection is missing": joined,
            "the mask is not used": ours(query, key, value),
            "the scores are divided by √d_model instead of √d_k": ours.to_output(
                read(split[0] / heads**0.5, *split[1:], mask).transpose(1, 2).flatten(2)
            ),
            "the keys are used as values": ours(query, key, key, mask),
            "there is one head": ours.to_output(read(q, k, v, mask[:, 0])),
        },
    )
    order = torch.randperm(keys, generator=draw.torch)
    expect_close(
        theirs(query, key[:, order], value[:, order], mask[..., order]),
        ours(query, key, value, mask),
        what="its output with the keys in another order",
        tolerance=CLOSE,
    )
    return "h heads, side by side in one matrix each"


def masks_step(code: Code, draw: Draws) -> str:
    """The two masks."""
    rows, tokens = draw.sizes(2)
    ids = draw.ids(20, max(rows, 3), tokens + 2)
    tokens, real = ids.size(1), ids != 0
    shape = len(ids), 1, tokens, tokens

    def spread(mask: object) -> Tensor:
        found = torch.as_tensor(mask)
        expect(found.dtype == torch.bool, f"a mask should be of bool, not {found.dtype}.")
        try:
            return found.expand(shape).long()
        except RuntimeError as error:
            raise Unmet(
                f"a mask of shape {tuple(found.shape)} does not broadcast to (batch, heads, queries, keys) "
                f"= {shape}."
            ) from error

    hidden = real[:, None, None, :].expand(shape).long()
    expect_close(
        spread(code.request("call", "padding_mask", ids)),
        hidden,
        what="padding_mask",
        mistakes={
            "it is True where it should hide": 1 - hidden,
            "it hides the rows of padding (queries), not its columns (keys)": hidden.mT,
            "it hides the last token, too": torch.as_tensor(real & (ids != 2))[:, None, None]
            .expand(shape)
            .long(),
        },
    )
    causal = torch.ones(tokens, tokens, dtype=torch.bool)
    right = decoder_mask(ids, 0).expand(shape).long()
    expect_close(
        spread(code.request("call", "decoder_mask", ids)),
        right,
        what="decoder_mask",
        mistakes={
            "it is True where it should hide": 1 - right,
            "a token may not attend to itself": (causal.tril(-1) & real[:, None, None]).expand(shape).long(),
            "a token sees those after it, not those before it": (causal.triu() & real[:, None, None])
            .expand(shape)
            .long(),
            "the padding is not hidden": causal.tril().expand(shape).long(),
            "later tokens are not hidden": hidden,
            "the two masks are joined by or, not by and": (causal.tril() | real[:, None, None])
            .expand(shape)
            .long(),
        },
    )
    return "padding is hidden, and from each token those after it"


def embedding_step(code: Code, draw: Draws) -> str:
    """Embeddings and positions."""
    pairs, tokens, rows = draw.sizes(3)
    d_model, vocab_size = 2 * pairs + 2, 13
    right, angle = sinusoids(tokens + 1, d_model), torch.arange(tokens + 1.0, dtype=torch.float64)[:, None]
    table = sinusoids(tokens + 2, d_model)
    divisor = 10_000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    half = 10_000 ** (torch.arange(d_model // 2, dtype=torch.float64) / d_model)
    expect_close(
        code.request("call", "positions", tokens + 1, d_model),
        right,
        tolerance=CLOSE,
        what="positions",
        mistakes={
            "all sines come first, and then the cosines": torch.cat(
                [(angle / divisor).sin(), (angle / divisor).cos()], dim=1
            ),
            "positions are counted from 1": table[1:],
            "sines and cosines are exchanged": right.unflatten(1, (-1, 2)).flip(2).flatten(1),
            "the exponent is i/d instead of 2i/d": torch.stack(
                [(angle / half).sin(), (angle / half).cos()], dim=-1
            ).flatten(1),
        },
    )
    matrix, ids = draw.normal(vocab_size, d_model), draw.ids(vocab_size, rows, tokens + 1)
    vectors = matrix[ids]
    expect_close(
        code.request("call", "embed", ids, matrix),
        vectors * d_model**0.5 + right,
        tolerance=CLOSE,
        what="embed",
        mistakes={
            "the embeddings are not multiplied by √d_model": vectors + right,
            "the positions are multiplied by √d_model, too": (vectors + right) * d_model**0.5,
            "the embeddings are divided by √d_model": vectors / d_model**0.5 + right,
            "the positions are missing": vectors * d_model**0.5,
        },
    )
    return "√d_model times the embedding, plus sines and cosines"


class NoResidual(AddNorm):
    """A mistake: the sub-layer's input is lost."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the norm of the sub-layer's output."""
        return self.norm(sublayer(x))


class NormOfOutput(AddNorm):
    """A mistake: the norm is of the sub-layer's output alone."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the sum of the input and the norm of the output."""
        return x + self.norm(sublayer(x))


WRONG_NORMS = {
    "the residual connection is missing": NoResidual,
    "the norm comes before the sub-layer (pre-norm), not after the sum": PreNorm,
    "the norm is of the sub-layer's output, and not of the sum": NormOfOutput,
}


def norm_step(code: Code, draw: Draws) -> str:
    """LayerNorm, and Add & Norm."""
    batch, tokens, d_model = draw.sizes(3)
    x, ours = draw.normal(batch, tokens, d_model + 3), LayerNorm(d_model + 3)
    tensors = draw.weights(ours)
    x = x * 0.01  # so that it shows where ε stands
    theirs = ReadersModule(code, "LayerNorm", d_model + 3, tensors=tensors)
    mean, gain, bias = x.mean(-1, keepdim=True), ours.gain, ours.bias
    variance = x.var(-1, correction=0, keepdim=True)
    expect_close(
        theirs(x),
        ours(x),
        what="LayerNorm",
        tolerance=CLOSE,
        mistakes={
            "the variance is divided by d − 1, not by d": gain
            * (x - mean)
            / (x.var(-1, keepdim=True) + 1e-5).sqrt()
            + bias,
            "ε is added to the standard deviation, not to the variance": gain
            * (x - mean)
            / (variance.sqrt() + 1e-5)
            + bias,
            "ε is added to the standard deviation, which is divided by d − 1": gain
            * (x - mean)
            / (x.std(-1, keepdim=True) + 1e-5)
            + bias,
            "the gain multiplies the bias, too": gain * ((x - mean) / (variance + 1e-5).sqrt() + bias),
            "ε is missing": gain * (x - mean) / variance.sqrt() + bias,
            "ε is 10⁻⁶": gain * (x - mean) / (variance + 1e-6).sqrt() + bias,
            "the mean is not subtracted": gain * x / (variance + 1e-5).sqrt() + bias,
            "gain and bias are missing": F.layer_norm(x, x.shape[-1:]),
            "the mean and the variance are over the tokens, not over the features": gain
            * (x - x.mean(1, keepdim=True))
            / (x.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
            + bias,
        },
    )
    plain = {"gain": torch.ones_like(gain), "bias": torch.zeros_like(bias)}
    shifted = ReadersModule(code, "LayerNorm", d_model + 3, tensors=plain)(1e4 * x + 7)
    expect_close(
        shifted.square().mean(-1),
        torch.ones(batch, tokens).double(),
        tolerance=1e-4,
        what="the mean square of normed features",
    )
    norm = PostNorm(d_model + 3, 0.0)
    tensors, matrix = draw.weights(norm), draw.normal(d_model + 3, d_model + 3)
    wrong = {}
    for why, kind in WRONG_NORMS.items():
        (other := kind(d_model + 3, 0.0).double()).load_state_dict(tensors)
        wrong[why] = other(x, lambda x: x @ matrix)
    found = ReadersModule(code, "AddNorm", d_model + 3, 0.0, tensors=tensors)(x, {"linear": matrix})
    expect_close(found, norm(x, lambda x: x @ matrix), what="Add & Norm", tolerance=CLOSE, mistakes=wrong)
    dropped = ReadersModule(code, "AddNorm", d_model + 3, 1.0, tensors=tensors)
    code.request("train", dropped.number)
    expect_close(
        dropped(x, {"linear": matrix}),
        norm.norm(x),
        what="Add & Norm in training, with a dropout of 1,",
        tolerance=CLOSE,
        mistakes={
            "there is no dropout": norm(x, lambda x: x @ matrix),
            "dropout is applied to the sum, not to the sub-layer's output": norm.norm(torch.zeros_like(x)),
            "dropout is applied to the norm, not to the sub-layer's output": torch.zeros_like(x),
        },
    )
    return "LayerNorm(x + Dropout(Sublayer(x)))"


def feed_forward_step(code: Code, draw: Draws) -> str:
    """The feed-forward network."""
    batch, tokens, d_model, d_ff = draw.sizes(4)
    ours, x = FeedForward(d_model, d_ff), draw.normal(batch, tokens, d_model)
    tensors = draw.weights(ours)
    theirs, up = ReadersModule(code, "FeedForward", d_model, d_ff, tensors=tensors), ours.expand(x)
    expect_close(
        theirs(x),
        ours(x),
        what="the feed-forward network",
        tolerance=CLOSE,
        mistakes={
            "the ReLU is missing": ours.contract(up),
            "the ReLU comes last": ours.contract(up).relu(),
            "there is a second ReLU at the end": ours.contract(up.relu()).relu(),
            "the activation is GELU": ours.contract(F.gelu(up)),
            "the biases are missing": up.sub(ours.expand.bias).relu() @ ours.contract.weight.T,
        },
    )
    expect_close(
        theirs(x.flip(1)), ours(x).flip(1), what="its output for the tokens reversed", tolerance=CLOSE
    )
    return "each token by itself: max(0, xW₁ + b₁)W₂ + b₂"


Stacked = Callable[[type[AddNorm]], Any]


def mistaken_stacks(make: Stacked, tensors: dict[str, Tensor], *inputs: Any) -> dict[str, Tensor]:
    """Return what a stack gives after the commonest mistakes."""
    found = {}
    for why, kind in WRONG_NORMS.items():
        (wrong := make(kind).double().eval()).load_state_dict(tensors)
        found[why] = wrong(*inputs)
    (right := make(PostNorm).double().eval()).load_state_dict(tensors)
    x, *others = inputs
    for layer in [right.layers[0]] * len(right.layers):
        x = layer(x, *others)
    found["all layers have the weights of the first"] = x
    x = inputs[0]
    for layer in [right.layers[-1]] * len(right.layers):
        x = layer(x, *others)
    found["all layers are one, as in [layer] * N"] = x
    found["a norm follows the last layer"] = F.layer_norm(right(*inputs), right(*inputs).shape[-1:])
    return found


def encoder_step(code: Code, draw: Draws) -> str:
    """The encoder."""
    heads, d_k, d_ff, tokens, layers = draw.sizes(5)
    d_model, layers = heads * d_k, min(layers, 3)

    def make(kind: type[AddNorm]) -> Any:
        return Encoder(
            EncoderLayer(
                MultiHeadAttention(d_model, heads),
                FeedForward(d_model, d_ff),
                kind(d_model, 0.0),
                kind(d_model, 0.0),
            )
            for _ in range(layers)
        )

    ours = make(PostNorm)
    tensors, x = draw.weights(ours), draw.normal(3, tokens + 2, d_model)
    mask = padding_mask(draw.ids(9, 3, tokens + 2), 0)
    theirs = ReadersModule(code, "Encoder", layers, d_model, heads, d_ff, 0.0, tensors=tensors)
    wrong = {"the mask is not used": ours(x, None)} | mistaken_stacks(make, tensors, x, mask)
    expect_close(theirs(x, mask), ours(x, mask), what="the encoder", tolerance=1e-7, mistakes=wrong)
    changed = torch.where(mask[:, 0, 0, :, None], x, draw.normal(*x.shape))
    real = mask[:, 0, 0]
    expect_close(
        theirs(changed, mask)[real],
        ours(x, mask)[real],
        what="its output after a change of padding",
        tolerance=1e-7,
    )
    return "N layers of self-attention and a feed-forward network"


def decoder_step(code: Code, draw: Draws) -> str:
    """The decoder."""
    heads, d_k, d_ff, tokens, layers = draw.sizes(5)
    d_model, layers = heads * d_k, min(layers, 3)

    def make(kind: type[AddNorm]) -> Any:
        def layer() -> DecoderLayer:
            attends = MultiHeadAttention(d_model, heads), MultiHeadAttention(d_model, heads)
            return DecoderLayer(*attends, FeedForward(d_model, d_ff), *(kind(d_model, 0.0) for _ in range(3)))

        return Decoder(layer() for _ in range(layers))

    ours = make(PostNorm)
    tensors, x, memory = (
        draw.weights(ours),
        draw.normal(3, tokens, d_model),
        draw.normal(3, tokens + 2, d_model),
    )
    causal, hidden = causal_mask(tokens), padding_mask(draw.ids(9, 3, tokens + 2), 0)
    theirs = ReadersModule(code, "Decoder", layers, d_model, heads, d_ff, 0.0, tensors=tensors)

    def changed(order: Callable[[DecoderLayer, Tensor], Tensor]) -> Tensor:
        y = x
        for layer in ours.layers:
            y = order(layer, y)
        return y

    def source_first(layer: DecoderLayer, x: Tensor) -> Tensor:
        x = layer.add_norm_1(x, lambda x: layer.cross_attention(x, memory, memory, hidden))
        x = layer.add_norm_2(x, lambda x: layer.self_attention(x, x, x, causal))
        return layer.add_norm_3(x, layer.feed_forward)

    def only_itself(layer: DecoderLayer, x: Tensor) -> Tensor:
        x = layer.add_norm_1(x, lambda x: layer.self_attention(x, x, x, causal))
        x = layer.add_norm_2(x, lambda x: layer.cross_attention(x, x, x, causal))
        return layer.add_norm_3(x, layer.feed_forward)

    inputs = x, memory, causal, hidden
    right = ours(*inputs)
    wrong = {
        "later tokens are visible: tgt_mask is not used": ours(x, memory, None, hidden),
        "the source's padding is visible: src_mask is not used": ours(x, memory, causal, None),
        "cross-attention comes before self-attention": changed(source_first),
        "cross-attention reads the target, not the memory": changed(only_itself),
    }
    expect_close(
        theirs(*inputs),
        right,
        what="the decoder",
        tolerance=1e-7,
        mistakes=wrong | mistaken_stacks(make, tensors, *inputs),
    )
    x = torch.cat([x[:, :-1], draw.normal(3, 1, d_model)], dim=1)
    expect_close(
        theirs(x, *inputs[1:])[:, :-1],
        right[:, :-1],
        what="its past after a change of the last token",
        tolerance=1e-7,
    )
    return "each token reads those before it, and then the source"


def transformer(draw: Draws, sizes: dict[str, Any]) -> Transformer:
    """Return the package's model with drawn weights, in float64, its positions, too."""
    model = Transformer(TransformerConfig(max_length=64, dropout=0.0, **sizes)).double().eval()
    for weight in model.parameters():
        weight.data = 0.4 * draw.normal(*weight.shape)
    model.positions.table = sinusoids(64, sizes["d_model"])
    return model


def model_step(code: Code, draw: Draws) -> str:
    """The Transformer, and its logits."""
    heads, d_k, d_ff, source, target = draw.sizes(5)
    layers, vocab_size = draw.python.choice((1, 2)), 17
    d_model = 2 * heads * d_k
    sizes: dict[str, Any] = {
        "vocab_size": vocab_size,
        "num_layers": layers,
        "d_model": d_model,
        "num_heads": heads,
        "d_ff": d_ff,
    }
    ours = transformer(draw, sizes)
    src, tgt = draw.ids(vocab_size, 3, source + 3), draw.ids(vocab_size, 3, target + 2, first=1)
    tensors, right = ours.state_dict(), ours(src, tgt)
    theirs = ReadersModule(code, "Transformer", *sizes.values(), 0.0, tensors=tensors)
    hidden, seen = padding_mask(src, 0), decoder_mask(tgt, 0)
    memory = ours.encode(src, hidden)

    def logits(memory: Tensor, own: Tensor, other: Tensor | None) -> Tensor:
        return ours.logits(ours.decoder(ours.embed(tgt), memory, own, other))

    everything = torch.ones_like(hidden)
    scale = ours.embedding.weight.size(1) ** 0.5
    expect_close(
        theirs(src, tgt),
        right,
        what="the logits",
        tolerance=1e-6,
        mistakes={
            "the decoder does not hide the source's padding": logits(memory, seen, everything),
            "the encoder does not hide the source's padding": logits(
                ours.encoder(ours.embed(src), everything), seen, hidden
            ),
            "no padding of the source is hidden": logits(
                ours.encoder(ours.embed(src), everything), seen, everything
            ),
            "later target tokens are visible": logits(memory, padding_mask(tgt, 0), hidden),
            "the embeddings are not multiplied by √d_model": ours.logits(
                ours.decoder(
                    ours.embed(tgt) - (scale - 1) * ours.embedding(tgt),
                    ours.encoder(ours.embed(src) - (scale - 1) * ours.embedding(src), hidden),
                    seen,
                    hidden,
                )
            ),
            "these are probabilities": right.softmax(-1),
            "these are log-probabilities": right.log_softmax(-1),
            "the logits are divided by √d_model": right / scale,
            "the logits are multiplied by √d_model": right * scale,
        },
    )
    one = theirs(src[-1:, : int((src[-1] != 0).sum())], tgt[-1:])
    expect_close(one, right[-1:], what="the logits of a sentence alone, without its padding", tolerance=1e-6)
    return "logits of each next token, with one matrix for source, target, and logits"


def loss_step(code: Code, draw: Draws) -> str:
    """The label-smoothed loss."""
    rows, tokens, vocab_size = draw.sizes(3)
    vocab_size, labels = vocab_size + 5, draw.ids(vocab_size + 5, rows, tokens + 2)
    logits, epsilon = 2 * draw.normal(rows, tokens + 2, vocab_size), draw.python.choice((0.1, 0.2, 0.3))
    log_probs, real = logits.log_softmax(-1), labels != 0
    of_label = log_probs.gather(-1, labels[..., None])[..., 0]
    others = (log_probs.sum(-1) - of_label) / (vocab_size - 1)
    losses = -(1 - epsilon) * of_label - epsilon * log_probs.mean(-1)
    right = label_smoothed_cross_entropy(logits, labels, smoothing=epsilon, pad_id=0)
    expect_close(
        code.request("call", "cross_entropy", logits, labels, epsilon),
        right,
        what="the loss",
        tolerance=CLOSE,
        mistakes={
            "padding is counted": losses.mean(),
            "the sum is divided by all labels, padding included": losses[real].sum() / real.numel(),
            "it is the sum, not the mean": losses[real].sum(),
            "smoothing gives nothing to the label itself: ε is divided among the V − 1 others": (
                -(1 - epsilon) * of_label - epsilon * others
            )[real].mean(),
            "ε multiplies the sum over the tokens, not their mean": (
                -(1 - epsilon) * of_label - epsilon * log_probs.sum(-1)
            )[real].mean(),
            "the label keeps all its weight: 1 − ε is missing": (-of_label - epsilon * log_probs.mean(-1))[
                real
            ].mean(),
            "there is no smoothing": -of_label[real].mean(),
            "it is in bits": right / math.log(2),
            "the mean is over sentences, not over labels": torch.stack(
                [row[known].mean() for row, known in zip(losses, real, strict=True)]
            ).mean(),
        },
    )
    even = code.request("call", "cross_entropy", torch.zeros_like(logits), labels, epsilon)
    expect_close(
        even,
        torch.tensor(math.log(vocab_size)).double(),
        what="the loss of equal logits, ln V,",
        tolerance=1e-6,
    )
    return "the mean over all labels that are not padding"


def adam_step(code: Code, draw: Draws) -> str:
    """The learning rate, and a step of Adam."""
    d_model, warm_up = draw.python.choice((64, 100, 512)), draw.python.choice((50, 400, 4000))
    for step in (1, warm_up // 2, warm_up, 4 * warm_up):
        found = code.request("call", "learning_rate", step, d_model, warm_up)
        expect_number(
            found,
            learning_rate(step, d_model=d_model, warmup_steps=warm_up),
            tolerance=1e-12,
            what=f"the rate at step {step} of d_model={d_model} and a warm-up of {warm_up}",
            mistakes={
                "the step is counted from 0": learning_rate(step + 1, d_model=d_model, warmup_steps=warm_up),
                "the larger of the two terms is taken": d_model**-0.5 * max(step**-0.5, step * warm_up**-1.5),
                "there is no warm-up": (d_model * step) ** -0.5,
                "the factor d_model^−0.5 is missing": min(step**-0.5, step * warm_up**-1.5),
            },
        )
    size, lr, betas, eps = draw.sizes(1)[0], 0.01, (0.9, 0.98), 1e-9
    weight = draw.normal(size)
    single = weight.clone().requires_grad_()
    adam = torch.optim.Adam([single], lr=lr, betas=betas, eps=eps)
    m = v = torch.zeros(size, dtype=torch.float64)
    for step in (1, 2, 3):
        single.grad = gradient = 1e-3 * draw.normal(size)
        before = [weight, gradient, m, v]
        adam.step()
        m, v = (adam.state[single][name].clone() for name in ("exp_avg", "exp_avg_sq"))
        m_hat, v_hat = m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)
        found = code.request("call", "adam_step", *before, step, lr)
        expect(isinstance(found, list) and len(found) == 3, "adam_step should return weight, m, and v.")
        expect_close(
            found[1],
            m,
            what=f"m after step {step}",
            tolerance=1e-12,
            mistakes={"it is the corrected m": m_hat, "it is the m before the step": before[2]},
        )
        slow = before[3] * 0.999 + 0.001 * gradient**2
        expect_close(
            found[2],
            v,
            what=f"v after step {step}",
            tolerance=1e-14,
            mistakes={
                "it is the corrected v": v_hat,
                "β₂ is 0.999": slow,
                "v is the mean of gradients, not of their squares": m,
            },
        )
        expect_close(
            found[0],
            single.detach(),
            what=f"the weight after step {step}",
            tolerance=1e-9,
            mistakes={
                "m and v are not corrected for their start at 0": before[0] - lr * m / (v.sqrt() + eps),
                "only m is corrected for its start at 0": before[0] - lr * m_hat / (v.sqrt() + eps),
                "the square root of v is missing": before[0] - lr * m_hat / (v_hat + eps),
                "the step goes up, not down": before[0] + lr * m_hat / (v_hat.sqrt() + eps),
                "ε stands inside the root": before[0] - lr * m_hat / (v_hat + eps).sqrt(),
            },
        )
        weight = single.detach().clone()
    return "the rate rises and falls, and Adam corrects its means for their start"


Batches = Sequence[tuple[Tensor, Tensor]]


def loop_step(code: Code, draw: Draws) -> str:
    """The training loop."""
    language, vocabulary = reordered_pairs(), reordered_vocabulary()
    draw.python.shuffle(language)
    held_out, training = language[:HELD_OUT], language[HELD_OUT:]
    sizes: dict[str, Any] = {
        "vocab_size": vocabulary.vocab_size,
        "num_layers": 1,
        "d_model": 32,
        "num_heads": 4,
        "d_ff": 64,
    }
    config, book = TransformerConfig(max_length=64, dropout=0.0, **sizes), Here(vars(whole_transformer))
    src, tgt = padded_ids(held_out, vocabulary)
    exact = exact_of_book = 0
    while exact < ENOUGH and exact_of_book < ENOUGH:  # from a few starting weights, a right loop learns less
        with torch.random.fork_rng([]):
            torch.manual_seed(draw.python.randrange(10**6))
            ours = Transformer(config).double()
        ours.positions.table = sinusoids(64, 32)
        tensors = {name: weight.clone() for name, weight in ours.state_dict().items()}
        batches = [padded_ids(draw.python.sample(training, 64), vocabulary) for _ in range(UPDATES)]
        theirs, same = (
            ReadersModule(each, "Transformer", *sizes.values(), 0.0, tensors=tensors) for each in (code, book)
        )
        given = [list(batch) for batch in batches]
        found = code.request("call", "train", theirs.reference, given, 32, 100, 0.1)
        found = found.tolist() if isinstance(found, Tensor) else found
        expect(
            isinstance(found, list) and len(found) == UPDATES,
            "train should yield or return a loss for each batch.",
        )
        expect_first_losses(found, ours, batches)
        of_book = book.request("call", "train", same.reference, given, 100, 0.1)
        exact, exact_of_book = (translated(each, src, tgt) for each in (theirs, same))
    expect(
        exact >= ENOUGH,
        f"after {UPDATES} updates, {exact} of {HELD_OUT} new sentences are right, not {ENOUGH} or more.",
    )
    code.losses |= {"yours": found, "the book's": of_book}
    curves = (f"{name:>10}  " + "  ".join(f"{x:.2f}" for x in row[::50]) for name, row in code.losses.items())
    start = f"{exact} of {HELD_OUT} new sentences are right; the loss of each fiftieth update:"
    return "\n".join([start, *curves])


def expect_first_losses(found: list[Any], ours: Transformer, batches: Batches) -> None:
    """Stop the check unless the losses of the first updates are those of our model, as it is now."""
    tensors = {name: weight.clone() for name, weight in ours.state_dict().items()}

    def losses(mistake: str = "") -> list[float]:
        ours.load_state_dict(tensors)
        ours.zero_grad()
        made, adam = [], torch.optim.Adam(ours.parameters(), betas=(0.9, 0.98), eps=1e-9)
        if mistake == "betas":
            adam = torch.optim.Adam(ours.parameters(), eps=1e-9)
        for step, (src, tgt) in enumerate(batches[:4], start=1):
            counted = {"rate": 100, "late": max(1, step - 1), "two": step + 1}.get(mistake, step)
            adam.param_groups[0]["lr"] = learning_rate(counted, d_model=32, warmup_steps=100)
            if mistake != "zero":
                adam.zero_grad()
            read, labels = (tgt[:, 1:], tgt[:, 1:]) if mistake == "shift" else (tgt[:, :-1], tgt[:, 1:])
            loss = label_smoothed_cross_entropy(
                ours(src, read),
                labels,
                smoothing=0.0 if mistake == "smoothing" else 0.1,
                pad_id=-1 if mistake == "padding" else 0,
            )
            loss.backward()
            if mistake != "step":
                adam.step()
            made.append(loss.item())
        return made

    names = {
        "shift": "the decoder reads the token that it should predict (no shift to the right)",
        "zero": "the gradients of earlier updates are not cleared (zero_grad)",
        "padding": "padding is counted in the loss",
        "rate": "the rate has no warm-up",
        "late": "each update has the rate of the one before it",
        "two": "the first update has the rate of step 2",
        "betas": "Adam has its default betas",
        "smoothing": "the loss has no smoothing",
        "step": "the weights are never updated (step)",
    }
    wrong = {why: losses(mistake) for mistake, why in names.items()}
    for update, right in enumerate(losses()):
        expect_number(
            found[update],
            right,
            what=f"the loss of update {update + 1}",
            tolerance=1e-6,
            mistakes={why: row[update] for why, row in wrong.items() if abs(row[update] - right) > 1e-9},
        )


def translated(model: ReadersModule, src: Tensor, tgt: Tensor) -> int:
    """Return how many sources a model translates by greedy search as the targets say."""
    with torch.no_grad():
        rows = greedy(lambda ids: model(src, ids), src)
    return sum(
        row[row != 0].tolist() == right[right != 0][1:].tolist() for row, right in zip(rows, tgt, strict=True)
    )


def greedy(
    logits: Callable[[Tensor], Tensor],
    src: Tensor,
    extra_tokens: int = 50,
    end: int = 2,
    barred: Sequence[int] = (0, 1),
    counted: bool = False,
) -> Tensor:
    """Return the likeliest tokens, one by one, by what computes logits from the tokens before.

    Mistakes are another end, fewer ids that are barred, and padding that is counted for the limit.
    """
    ids, limit = torch.full_like(src[:, :1], 1), (src != (-1 if counted else 0)).sum(1) + extra_tokens
    writing = limit > 0
    while writing.any():
        last = logits(ids)[:, -1].clone()
        last[:, list(barred)] = -math.inf
        ids = torch.cat([ids, last.argmax(-1).where(writing, 0)[:, None]], dim=1)
        writing = writing & (ids[:, -1] != end) & (ids[:, -1] != 0) & (ids.size(1) <= limit)
    return ids[:, 1:]


def padded(ids: object) -> Tensor:
    """Return rows of ids, filled up to 30 by padding."""
    ids = torch.as_tensor(ids)
    expect(
        ids.ndim == 2, f"greedy_search should return ids of shape (sentences, tokens), not {ids.ndim} axes."
    )
    return F.pad(ids, (0, max(0, 30 - ids.size(1))))[:, :30]


def search_step(code: Code, draw: Draws) -> str:
    """Greedy search."""
    sizes: dict[str, Any] = {"vocab_size": 11, "num_layers": 1, "d_model": 12, "num_heads": 2, "d_ff": 9}
    extra, ends = draw.python.randint(4, 9), 0
    while not 0 < ends < 6:  # some rows end by the end symbol, and others at their limit
        ours, src = transformer(draw, sizes), draw.ids(11, 6, 7)
        right = greedy_search(ours, src, extra_tokens=extra)
        ends = int((right == 2).any(dim=1).sum())
    write = partial(greedy, partial(ours, src), src, extra)
    wrong = {
        "the start symbol is a part of the result": torch.cat([torch.ones_like(right[:, :1]), right], dim=1),
        "a target goes on after its end symbol": write(end=-1),
        "the limit counts the source's padding": write(counted=True),
        "the limit does not count the source's tokens": right[:, :extra],
        "it writes one token more than the limit": greedy_search(ours, src, extra_tokens=extra + 1),
        "it writes one token less than the limit": greedy_search(ours, src, extra_tokens=extra - 1),
    }

    def compare() -> None:
        theirs = ReadersModule(code, "Transformer", *sizes.values(), 0.0, tensors=ours.state_dict())
        expect_close(
            padded(code.request("call", "greedy_search", theirs.reference, src, extra)),
            padded(right),
            what="greedy_search",
            mistakes={why: padded(ids) for why, ids in wrong.items()},
        )

    compare()
    vectors = ours.embedding.weight.data
    vectors[0] = vectors[1] = 3 * vectors[right[0, 0]]  # now padding and the start symbol are the likeliest
    right = greedy_search(ours, src, extra_tokens=extra)
    wrong = {"the start symbol may be chosen": write(barred=[0]), "padding may be chosen": write(barred=[1])}
    compare()
    return "the likeliest token at each step, until the end symbol or the limit"


@dataclass(frozen=True)
class Step:
    """A step: what it asks for, the chapter that teaches it, and its check."""

    number: int
    names: str
    title: str
    chapter: str
    check: Callable[[Code, Draws], str]


def _steps() -> Iterator[Step]:
    rows = (
        ("attention", "scaled dot-product attention", "03_scaled_dot_product_attention", attention_step),
        ("MultiHeadAttention", "multi-head attention", "05_multi_head_attention", heads_step),
        ("padding_mask, decoder_mask", "the two masks", "06_masking", masks_step),
        ("positions, embed", "embeddings and positions", "08_positional_encoding", embedding_step),
        ("LayerNorm, AddNorm", "LayerNorm and Add & Norm", "09_add_and_norm", norm_step),
        ("FeedForward", "the feed-forward network", "10_feed_forward", feed_forward_step),
        ("Encoder", "the encoder", "11_encoder", encoder_step),
        ("Decoder", "the decoder", "13_decoder", decoder_step),
        ("Transformer", "the Transformer and its logits", "14_transformer", model_step),
        ("cross_entropy", "the loss", "16_training", loss_step),
        ("learning_rate, adam_step", "the learning rate and a step of Adam", "16_training", adam_step),
        ("train", "a training loop", "16_training", loop_step),
        ("greedy_search", "greedy search", "18_decoding", search_step),
    )
    for number, (names, title, chapter, check) in enumerate(rows, start=1):
        yield Step(number, names, title, chapter, check)


STEPS = tuple(_steps())
