"""The number of parameters of a Transformer part by part: table 3 of the paper, chapter 14 of the book."""

from annotated_transformer.config import TransformerConfig


def parameter_counts(config: TransformerConfig) -> dict[str, int]:
    r"""Return the parameter count of each part of a model; they sum to $P$ of eq-parameters.

    One matrix embeds source and target and scores the output, so it counts once, unless the config
    asks for an output matrix.
    """
    d, h, d_ff, layers = (
        config.d_model,
        config.num_heads,
        config.d_ff,
        config.num_layers,
    )
    d_k = d // h if config.d_k is None else config.d_k
    d_v = d // h if config.d_v is None else config.d_v
    attention = 2 * d * h * d_k + 2 * d * h * d_v
    if config.attention_bias:
        attention += 2 * h * d_k + h * d_v + d
    feed_forward = 2 * d * d_ff + d_ff + d
    norm = 2 * d
    final_norms = 2 * norm if config.norm == "pre" else 0
    return {
        "shared matrix": config.vocab_size * d,
        "output matrix": 0 if config.tied_output else config.vocab_size * d,
        "positions": config.max_length * d if config.positions == "learned" else 0,
        "self-attention, encoder": layers * attention,
        "self-attention, decoder": layers * attention,
        "cross-attention": layers * attention,
        "feed-forward, encoder": layers * feed_forward,
        "feed-forward, decoder": layers * feed_forward,
        "norms": layers * 5 * norm + final_norms,
    }
