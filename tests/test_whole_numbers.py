"""Whole numbers of NumPy are whole numbers, wherever the package checks that a number is one."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from annotated_transformer import Tokenizer, TrainingConfig, Transformer, TransformerConfig, Translator
from annotated_transformer.decoding import TopK, beam_search, greedy_search, sample
from annotated_transformer.modern.alibi import alibi_slopes
from annotated_transformer.text import Table, make_batches
from annotated_transformer.training import Recipe, train

SIZES = {"vocab_size": 262, "d_model": 8, "num_heads": 2, "d_ff": 7, "num_layers": 1, "max_length": 13}


def results(whole: Any, folder: Path) -> list[Any]:
    """Return what the package computes from numbers of a type."""
    config = TransformerConfig(**{name: whole(size) for name, size in SIZES.items()})
    training = TrainingConfig(steps=whole(3), batch_tokens=whole(17), warmup_steps=whole(5))
    recipe = Recipe(shape=config, training=training, average=whole(2))
    torch.manual_seed(0)
    model, src, generator = Transformer(config), torch.tensor([[5, 3, 2]]), torch.Generator().manual_seed(0)
    drawn = sample(model, src, generator=generator, logits_processors=[TopK(whole(3))])
    (folder / "pairs").write_text("a\tb\n")
    pairs = [([whole(4), whole(2)], [whole(1), whole(5), whole(2)])]
    translator = Translator(model, Tokenizer.train(["a b"] * 9, vocab_size=whole(300)))
    return [
        json.dumps(asdict(recipe)),
        beam_search(model, src, beam_size=whole(3), nbest=whole(2)).ids.tolist(),
        greedy_search(model, src, extra_tokens=whole(4)).tolist(),
        make_batches(pairs, batch_tokens=whole(17))[0].src.tolist(),
        train(model, pairs, training)[-1].step,
        Table(folder / "pairs", (whole(2), whole(1))).read(),
        alibi_slopes(whole(8)).tolist(),
        *(drawn.tolist(), translator.translate(["a"], batch_size=whole(2))),
    ]


@pytest.mark.message  # without the hook that checks types
@pytest.mark.parametrize("whole", [np.int16, torch.tensor])
def test_law_whole_numbers_of_other_types_are_whole_numbers(whole: Any, tmp_path: Path) -> None:
    assert results(whole, tmp_path) == results(int, tmp_path)
    for other in (True, 3.5, np.float64(3)):
        with pytest.raises(ValueError, match="choose a positive whole number"):
            alibi_slopes(other)
