"""The settings of Marian models in `transformers`, and what a model must be to have them."""

from typing import Any

from annotated_transformer.config import TransformerConfig

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}  # theirs, ours


def marian_settings(config: TransformerConfig) -> dict[str, Any]:
    """Return the settings of the Marian model that computes what ours does, for `config.json`."""
    of_stacks = {}
    for stack in ("encoder", "decoder"):
        of_stacks[f"{stack}_layers"] = config.num_layers
        of_stacks[f"{stack}_attention_heads"] = config.num_heads
        of_stacks[f"{stack}_ffn_dim"] = config.d_ff
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "vocab_size": config.vocab_size,
        "decoder_vocab_size": config.vocab_size,
        "max_position_embeddings": config.max_length,
        "d_model": config.d_model,
        **of_stacks,
        "activation_function": config.activation,
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "normalize_before": False,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": config.tied_output,
        "is_encoder_decoder": True,
        **special_ids(config),
    }


def generation_settings(config: TransformerConfig) -> dict[str, Any]:
    """Return the settings of `generate`: greedy search, and neither padding nor BOS in a target."""
    suppressed = {"suppress_tokens": [config.pad_id, config.bos_id]}
    return {"max_length": config.max_length, "num_beams": 1, **special_ids(config), **suppressed}


def special_ids(config: TransformerConfig) -> dict[str, int | None]:
    """Return the settings that have special ids; a target that reaches its limit gets no EOS."""
    return {
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
        "forced_eos_token_id": None,
    }


def refuse_other_than_marian(config: TransformerConfig) -> None:
    """Refuse a shape that Marian models in `transformers` do not have."""
    for name, wanted in (("norm", "post"), ("positions", "sinusoidal")):
        if (value := getattr(config, name)) != wanted:
            raise ValueError(
                f"{name}={value!r} cannot be carried over: a Marian model of transformers has {wanted!r}"
            )
    if config.has_final_norm:
        raise ValueError(
            "final_norm=True cannot be carried over: a Marian model has no norm after its last layer"
        )


def read_marian_shape(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `TransformerConfig` that these settings describe."""
    return {
        "max_length": settings["max_position_embeddings"],
        "num_layers": settings["encoder_layers"],
        "d_model": settings["d_model"],
        "d_ff": settings["encoder_ffn_dim"],
        "num_heads": settings["encoder_attention_heads"],
        "dropout": settings["dropout"],
        "activation": ACTIVATIONS[settings["activation_function"]],
        "tied_output": settings["tie_word_embeddings"],
    }
