"""The file that `annotated-transformer build` writes: a heading, signatures with shapes, a sentence each."""

OUTLINE = '''"""My Transformer, built step by step; `annotated-transformer build {name} --check` judges it.

Write the steps in order, with torch alone (not annotated_transformer); your own helpers are free.
The weights that your model loads at the end need it like this:
- post-norm, LayerNorm(x + Sublayer(x)), and no norm after the last layer;
- no biases in attention; epsilon is 1e-5, inside LayerNorm's square root;
- embeddings times the square root of d_model, and one embedding matrix for source, target, and logits;
- positions computed, not stored among the weights;
- padding (id 0) and the start symbol (1) never chosen, 2 is the end;
- for each row, at most as many tokens as its source has without padding, and 50 more.

The names of the 121 tensors, with their shapes (N = 0 to 3; d_model 160, d_ff 512):
  embedding.weight (6000, 160)
  {{encoder,decoder}}.layers.N.self_attention.{{to_query,to_key,to_value,to_output}}.weight (160, 160),
  decoder.layers.N.cross_attention likewise
  {{encoder,decoder}}.layers.N.feed_forward.expand.{{weight,bias}} (512, 160), (512,)
  {{encoder,decoder}}.layers.N.feed_forward.contract.{{weight,bias}} (160, 512), (160,)
  {{encoder,decoder}}.layers.N.add_norm_{{1,2}}.norm.{{gain,bias}} (160,); the decoder has add_norm_3, too
Parts have the end of these names: a LayerNorm has gain and bias. If yours differ, write
  def own_names(tensors):  # a dict of names and tensors, of a part or of the whole
which returns your names and tensors.

In the comments: B sentences, n queries or tokens, m keys, h heads, d = d_model features, V tokens.
"""

import torch
from torch import nn


# 1. Scaled dot-product attention: the mask is True where a query may attend;
# a query that may attend nowhere gets zeros.
# (…, n, d_k), (…, m, d_k), (…, m, d_v), (…, n, m) → (…, n, d_v)
def attention(query, key, value, mask):
    raise NotImplementedError("your turn")


# 2. Multi-head attention: project, attend in each head, concatenate, project.
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        raise NotImplementedError("your turn")

    # (B, n, d), (B, m, d), (B, m, d), and a mask for (B, h, n, m) → (B, n, d)
    def forward(self, query, key, value, mask):
        raise NotImplementedError("your turn")


# 3. The two masks, which broadcast to (B, h, n, n): one hides padding, the other
# also what comes later.
def padding_mask(ids):  # (B, n)
    raise NotImplementedError("your turn")


def decoder_mask(ids):  # (B, n)
    raise NotImplementedError("your turn")


# 4. Sines and cosines; and the embeddings of ids, times the square root of d,
# plus positions.
def positions(tokens, d_model):  # → (n, d)
    raise NotImplementedError("your turn")


def embed(ids, table):  # (B, n), (V, d) → (B, n, d)
    raise NotImplementedError("your turn")


# 5. LayerNorm, and Add & Norm around a sub-layer, which is a function of x.
class LayerNorm(nn.Module):
    def __init__(self, d_model):
        raise NotImplementedError("your turn")

    def forward(self, x):  # (B, n, d) → (B, n, d)
        raise NotImplementedError("your turn")


class AddNorm(nn.Module):
    def __init__(self, d_model, dropout):
        raise NotImplementedError("your turn")

    def forward(self, x, sublayer):  # (B, n, d) → (B, n, d)
        raise NotImplementedError("your turn")


# 6. The feed-forward network, with biases and a ReLU.
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        raise NotImplementedError("your turn")

    def forward(self, x):  # (B, n, d) → (B, n, d)
        raise NotImplementedError("your turn")


# 7. The encoder: layers of self-attention and a feed-forward network, each in its
# Add & Norm.
class Encoder(nn.Module):
    def __init__(self, num_layers, d_model, num_heads, d_ff, dropout):
        raise NotImplementedError("your turn")

    def forward(self, x, mask):  # (B, n, d) → (B, n, d)
        raise NotImplementedError("your turn")


# 8. The decoder: self-attention, cross-attention to the memory, a feed-forward network.
class Decoder(nn.Module):
    def __init__(self, num_layers, d_model, num_heads, d_ff, dropout):
        raise NotImplementedError("your turn")

    # (B, n, d), (B, m, d), and the masks of target and source → (B, n, d)
    def forward(self, x, memory, tgt_mask, src_mask):
        raise NotImplementedError("your turn")


# 9. The Transformer: ids of source and target in, logits of each next target token out.
class Transformer(nn.Module):
    def __init__(self, vocab_size, num_layers, d_model, num_heads, d_ff, dropout):
        raise NotImplementedError("your turn")

    def forward(self, src, tgt):  # (B, m), (B, n) → (B, n, V)
        raise NotImplementedError("your turn")


# 10. The cross-entropy with label smoothing over all V tokens: the mean over the
# labels that are not padding (0).
def cross_entropy(logits, labels, smoothing):  # (B, n, V), (B, n)
    raise NotImplementedError("your turn")


# 11. The paper's learning rate, steps counted from 1; and a step of Adam, which
# returns the new weight, m, and v; all are tensors of one shape.
def learning_rate(step, d_model, warmup_steps):
    raise NotImplementedError("your turn")


def adam_step(weight, gradient, m, v, step, lr):  # betas 0.9 and 0.98, epsilon 1e-9
    raise NotImplementedError("your turn")


# 12. The training loop: an update with each batch (src, tgt) of padded ids; return
# or yield the losses.
def train(model, batches, d_model, warmup_steps, smoothing):
    raise NotImplementedError("your turn")


# 13. Greedy search: the likeliest token at each step; return ids without the start
# symbol, padded after the end.
def greedy_search(model, src, extra_tokens=50):  # (B, m) → (B, at most m + 50)
    raise NotImplementedError("your turn")
'''
