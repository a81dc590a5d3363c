"""Configs: the numbers of the paper, and error messages for shapes that cannot be built."""

import dataclasses
from typing import Any

import pytest
import torch

from annotated_transformer import BASE, BIG, TrainingConfig, Transformer, TransformerConfig

# Table 3 of the paper: the changes in a row, the millions of parameters it prints, and the millions that the
# formulas of section 3 give at V = 37,000. Heads and dropout change no count.
TABLE_3 = {
    "base": ({}, 65, 63.05),
    "A, 16 heads": ({"num_heads": 16}, 65, 63.05),
    "B, d_k 16": ({"d_k": 16}, 58, 55.97),
    "B, d_k 32": ({"d_k": 32}, 60, 58.33),
    "C, 2 layers": ({"num_layers": 2}, 36, 33.64),
    "C, 4 layers": ({"num_layers": 4}, 50, 48.35),
    "C, 8 layers": ({"num_layers": 8}, 80, 77.75),
    "C, d_model 256": ({"d_model": 256, "d_k": 32, "d_v": 32}, 28, 26.82),
    "C, d_model 1024": ({"d_model": 1024, "d_k": 128, "d_v": 128}, 168, 163.82),
    "C, d_ff 1024": ({"d_ff": 1024}, 53, 50.45),
    "C, d_ff 4096": ({"d_ff": 4096}, 90, 88.24),
    "big": ({"d_model": 1024, "d_ff": 4096, "num_heads": 16, "dropout": 0.3}, 213, 214.17),
}


@pytest.mark.parametrize("config", [BASE, TrainingConfig()], ids=["model", "training"])
def test_law_no_field_of_a_config_can_be_assigned(config: TransformerConfig | TrainingConfig):
    for field in dataclasses.fields(config):
        with pytest.raises(dataclasses.FrozenInstanceError, match=field.name):
            setattr(config, field.name, getattr(config, field.name))


@pytest.mark.parametrize(("changes", "printed", "millions"), TABLE_3.values(), ids=TABLE_3.keys())
def test_oracle_parameters_of_table_3_at_37_000_tokens(changes, printed, millions):
    config = dataclasses.replace(BASE, **changes)
    assert round(count(config), 2) == millions
    assert round(millions) != printed  # the vocabulary of section 5.1 reproduces none of them
    vocab = 36_000 if config == BIG else 41_100  # the big model fits no vocabulary of the others
    assert round(count(dataclasses.replace(config, vocab_size=vocab))) == printed


def count(config: TransformerConfig) -> float:
    """Return the millions of parameters of a model."""
    with torch.device("meta"):  # shapes without data
        return sum(parameter.numel() for parameter in Transformer(config).parameters()) / 1e6


def test_oracle_base_and_big_are_the_rows_of_table_3():
    row = {"num_layers": 6, "d_model": 512, "d_ff": 2048, "num_heads": 8, "dropout": 0.1}
    assert row.items() <= dataclasses.asdict(BASE).items()
    row = {"num_layers": 6, "d_model": 1024, "d_ff": 4096, "num_heads": 16, "dropout": 0.3}
    assert row.items() <= dataclasses.asdict(BIG).items()
    for config in (BASE, BIG):
        assert config.vocab_size == 37_000  # section 5.1
        assert config.d_model // config.num_heads == 64
        choices = config.norm, config.activation, config.positions
        assert choices == ("post", "relu", "sinusoidal")
        assert (config.attention_bias, config.output_bias, config.has_final_norm) == (False, False, False)


HUGE = 2**31
SIZES = ("vocab_size", "max_length", "num_layers", "d_model", "d_ff", "num_heads", "d_k", "d_v")
IDS = {"pad_id": 0, "bos_id": 1, "eos_id": 2}
WRONG_IDS = [
    {"pad_id": 1}, {"bos_id": 2}, {"eos_id": 23}, {"pad_id": -1}, {"pad_id": 0.5}, {"eos_id": None},
    {"pad_id": False},
]  # fmt: skip
SPLIT = r"num_heads=7 equal heads; choose num_heads from \[1, 2, 4, .*\], or give both d_k and d_v"
ODD = r"d_model=511 is odd, but sinusoids come in pairs; make it even, or choose learned positions"
CHOICES = {
    "norm": "'post', 'pre'",
    "activation": "'relu', 'gelu', 'swish'",
    "positions": "'sinusoidal', 'learned'",
    "attention": "'scaled_dot_product', 'fused'",
}
WRONG: list[tuple[dict[str, object], str]] = [
    *(
        ({name: size}, rf"^{name}={size!r}; choose a positive whole number$")
        for name in SIZES
        for size in (0, -3, 1.5, 64.0, "64", True)
    ),
    *(
        ({name: size}, rf"^{name}={size} is too large; choose a number below {HUGE}$")
        for name in SIZES
        for size in (HUGE, 10**400)
    ),
    *(({size: 10**9}, rf"has about .* weights, more than 1e\+11; .*{size}=1000000000") for size in SIZES[:5]),
    *(
        ({"dropout": dropout}, rf"dropout={dropout!r} is not in \[0, 1\); the paper's base model has 0.1")
        for dropout in (-0.1, 1, 1.5, float("nan"), None, "0.1")
    ),
    *(({name: "none"}, rf"{name}='none'; choose from \[{known}\]") for name, known in CHOICES.items()),
    *(
        ({name: value}, f"{name}={value!r}; choose True or False")
        for name in ("attention_bias", "output_bias", "tied_output")
        for value in ("no", 0, None)
    ),
    *(
        ({"final_norm": value}, f"^final_norm={value!r}; choose True, False, or None$")
        for value in ("no", 0, 1)
    ),
    *(({"num_heads": 7, **widths}, SPLIT) for widths in ({}, {"d_k": 64}, {"d_v": 64})),
    ({"d_model": 511, "num_heads": 7}, ODD),
    *(
        (
            {"vocab_size": 23, **changed},
            rf"^{IDS | changed} are not three different ids below vocab_size=23; choose other ids$",
        )
        for changed in WRONG_IDS
    ),
]


@pytest.mark.message
@pytest.mark.parametrize(("changes", "sentence"), WRONG)
def test_message_a_shape_that_cannot_be_built(changes: dict[str, Any], sentence: str):
    with pytest.raises(ValueError, match=sentence):
        TransformerConfig(**changes)


def test_law_heads_may_have_widths_of_their_own_and_learned_positions_an_odd_width():
    assert TransformerConfig(num_heads=7, d_k=64, d_v=64).num_heads == 7
    assert TransformerConfig(d_model=511, num_heads=7, positions="learned").d_model == 511


@pytest.mark.parametrize(
    "changes", [{}, {"tied_output": False}, {"num_heads": 4, "d_k": 7, "d_v": 9, "d_ff": 31, "num_layers": 3}]
)
def test_law_the_size_check_counts_the_weights_of_all_matrices(changes):
    config = TransformerConfig(vocab_size=101, max_length=53, positions="learned", **changes)
    with torch.device("meta"):
        matrices = sum(x.numel() for x in Transformer(config).parameters() if x.ndim == 2)
    assert config._weights() == matrices
