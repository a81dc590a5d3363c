"""The Transformer of *Attention Is All You Need* (Vaswani et al., 2017), with PyTorch.

Shapes: B sentences, n queries, m keys, h heads, d features of a token, V tokens.
A mask is True where a query may attend. Sentences are padded at their ends.
"""

import math

import torch
from torch import nn

PAD, BOS, EOS = 0, 1, 2


def attention(query, key, value, mask):  # (…, n, d_k), (…, m, d_k), (…, m, d_v)
    """Return softmax(QKᵀ/√d_k)V (eq. 1), and zeros if a query may attend nowhere."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (…, n, m)
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0) @ value  # softmax makes NaN of only -inf


class MultiHeadAttention(nn.Module):
    """Attend with h heads at once, and mix what they find (3.2.2)."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)  # of all heads
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask):  # (B, n, d), (B, m, d), (B, m, d)
        q, k, v = self.to_query(query), self.to_key(key), self.to_value(value)
        heads = attention(self.split(q), self.split(k), self.split(v), mask)
        return self.to_output(heads.transpose(1, 2).flatten(2))  # (B, n, d)

    def split(self, x):  # (B, n, d) → (B, h, n, d/h)
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


def padding_mask(ids):  # (B, m) → (B, 1, 1, m): for all heads and all queries
    """Hide the padding (3.2.3)."""
    return (ids != PAD)[:, None, None, :]


def decoder_mask(ids):  # (B, n) → (B, 1, n, n)
    """Hide the padding, and from each token those after it."""
    places = torch.arange(ids.size(1), device=ids.device)
    return padding_mask(ids) & (places <= places[:, None])


class FeedForward(nn.Module):
    """Transform each token by itself: max(0, xW₁ + b₁)W₂ + b₂ (eq. 2)."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand, self.contract = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.contract(self.expand(x).relu())


class LayerNorm(nn.Module):
    """Give the features of each token mean 0 and variance 1, then a gain and a bias."""

    def __init__(self, d_model):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        centered = x - x.mean(dim=-1, keepdim=True)
        variance = centered.square().mean(dim=-1, keepdim=True)
        return self.gain * centered / (variance + 1e-5).sqrt() + self.bias


class AddNorm(nn.Module):
    """Add the output of a sub-layer to its input, and normalize the sum (3.1)."""

    def __init__(self, d_model, dropout):
        super().__init__()
        self.norm, self.dropout = LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """Let each token read the others, and work on what it has read."""

    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.add_norm_1 = AddNorm(d_model, dropout)
        self.add_norm_2 = AddNorm(d_model, dropout)

    def forward(self, x, mask):
        x = self.add_norm_1(x, lambda x: self.self_attention(x, x, x, mask))
        return self.add_norm_2(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Let each token read those before it, then the source, and work on both."""

    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.add_norm_1 = AddNorm(d_model, dropout)
        self.add_norm_2 = AddNorm(d_model, dropout)
        self.add_norm_3 = AddNorm(d_model, dropout)

    def forward(self, x, z, mask, src_mask):  # z: the encoder's output
        x = self.add_norm_1(x, lambda x: self.self_attention(x, x, x, mask))
        x = self.add_norm_2(x, lambda x: self.cross_attention(x, z, z, src_mask))
        return self.add_norm_3(x, self.feed_forward)


def positions(tokens, d_model):  # → (n, d)
    """Return sin(p / 10000^(2i/d)) in even features, and cosines in odd ones (3.5)."""
    divisor = 10_000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = torch.arange(tokens, dtype=torch.float64)[:, None] / divisor
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


class Transformer(nn.Module):
    """Return the logits of each next token of the target, given those before it."""

    def __init__(self, vocab_size, num_layers, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        sizes = d_model, num_heads, d_ff, dropout
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)  # not N(0, 1)
        self.dropout = nn.Dropout(dropout)
        layers = range(num_layers)
        self.encoder = nn.ModuleDict(
            {"layers": nn.ModuleList(EncoderLayer(*sizes) for _ in layers)}
        )
        self.decoder = nn.ModuleDict(
            {"layers": nn.ModuleList(DecoderLayer(*sizes) for _ in layers)}
        )

    def forward(self, src, tgt):  # (B, m), (B, n) → (B, n, V)
        return self.decode(tgt, self.encode(src), padding_mask(src))

    def encode(self, src):  # → z, (B, m, d)
        x, mask = self.embed(src), padding_mask(src)
        for layer in self.encoder["layers"]:
            x = layer(x, mask)
        return x

    def decode(self, tgt, z, src_mask):
        x, mask = self.embed(tgt), decoder_mask(tgt)
        for layer in self.decoder["layers"]:
            x = layer(x, z, mask, src_mask)
        return x @ self.embedding.weight.T  # the same matrix gives the logits (3.4)

    def embed(self, ids):
        x = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(x + positions(*x.shape[1:]).to(x))


def cross_entropy(logits, labels, smoothing):  # (B, n, V), (B, n)
    """Return the mean of the label-smoothed loss (5.4) over labels but padding."""
    log_probs = logits.log_softmax(dim=-1)
    of_label = log_probs.gather(-1, labels[..., None])[..., 0]
    losses = -(1 - smoothing) * of_label - smoothing * log_probs.mean(dim=-1)
    return losses[labels != PAD].mean()


def learning_rate(step, d_model, warmup_steps):
    """Return the rate of an update, counted from 1 (eq. 3): it rises, then falls."""
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def train(model, batches, warmup_steps, smoothing):
    """Make an update with each batch, ids of sources and targets; yield its loss."""
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    model.train()
    for step, (src, tgt) in enumerate(batches, start=1):
        rate = learning_rate(step, model.embedding.embedding_dim, warmup_steps)
        adam.param_groups[0]["lr"] = rate
        adam.zero_grad()
        logits = model(src, tgt[:, :-1])  # each token but the last is read,
        loss = cross_entropy(logits, tgt[:, 1:], smoothing)  # and the next predicted
        loss.backward()
        adam.step()
        yield loss.item()


@torch.no_grad()
def greedy_search(model, src, extra_tokens=50):  # (B, m) → (B, at most m + 50)
    """Write the likeliest token at each step, until EOS or the limit; then padding."""
    model.eval()
    z, limit = model.encode(src), (src != PAD).sum(dim=1) + extra_tokens
    tgt, writing = torch.full_like(src[:, :1], BOS), limit > 0
    while writing.any():
        logits = model.decode(tgt, z, padding_mask(src))[:, -1]
        logits[:, [PAD, BOS]] = -math.inf  # neither occurs within a target
        token = logits.argmax(dim=-1).where(writing, PAD)
        tgt = torch.cat([tgt, token[:, None]], dim=1)
        writing = writing & (token != EOS) & (tgt.size(1) <= limit)
    return tgt[:, 1:]


def translate(folder, sentences):
    """Translate with the weights and the tokenizer in a folder of the book's models."""
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    model = Transformer(6000, num_layers=4, d_model=160, num_heads=5, d_ff=512)
    model.load_state_dict(load_file(f"{folder}/model.safetensors"))
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    encoded = tokenizer.encode_batch(sentences)
    rows = [torch.tensor([*row.ids, EOS]) for row in encoded]
    ids = greedy_search(model, nn.utils.rnn.pad_sequence(rows, batch_first=True))
    return [text.strip() for text in tokenizer.decode_batch(ids.tolist())]
