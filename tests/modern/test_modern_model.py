"""The model of today's make through the package's own functions: train, sample, and its config."""

import math
from dataclasses import replace
from functools import partial

import pytest
import torch

from annotated_transformer.book.toy.tasks import FIRST_SYMBOL, reverse_pairs
from annotated_transformer.checkpointing.checkpoint import load, save
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.sampling import TopK, sample
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.alibi import ALiBi, alibi_slopes
from annotated_transformer.modern.biased_attention import BiasedAttention
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.modern.grouped_query_attention import GroupedQueryAttention
from annotated_transformer.modern.mixture_of_experts import MixtureOfExperts, Router
from annotated_transformer.modern.modern_model import ModernConfig, ModernModel
from annotated_transformer.modern.relative_bias import BucketedBias, RelativeBias
from annotated_transformer.modern.rotary import RotaryHalves, RotaryPositions
from annotated_transformer.modern.sliding_window import SlidingWindowAttention, sliding_window_mask
from annotated_transformer.text.batching import Pair
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.trainer import train
from tests.checkpointing.small_models import make_tokenizer

SYMBOLS, LENGTH = 5, 3
SEPARATOR = FIRST_SYMBOL + SYMBOLS
CONFIG = ModernConfig(vocab_size=SEPARATOR + 1, max_length=23, d_model=32, d_ff=88)

ROTARY = RotaryPositions, RotaryHalves
BIASES = ALiBi(1), RelativeBias(1, 3), BucketedBias(1, causal=True)
SIZED = [  # each with the name of the size that it takes
    (alibi_slopes, "num_heads"),
    (lambda size: RelativeBias(2, size), "max_distance"),
    (partial(sliding_window_mask, 5), "window"),
    (SlidingWindowAttention, "window"),
]


def reversals(count: int, seed: int) -> list[Pair]:
    """Return texts such as BOS a b c | c b a EOS."""
    rng = torch.Generator().manual_seed(seed)
    pairs = reverse_pairs(count, symbols=SYMBOLS, lengths=range(1, LENGTH + 1), generator=rng)
    return [([], [CONFIG.bos_id, *src[:-1], SEPARATOR, *tgt[1:]]) for src, tgt in pairs]


def questions(texts: list[Pair]) -> torch.Tensor:
    prompts = [text[: text.index(SEPARATOR) + 1] for _, text in texts]
    width = max(map(len, prompts))
    return torch.tensor([prompt + [0] * (width - len(prompt)) for prompt in prompts])


@pytest.mark.filterwarnings("ignore:.*are training pairs")
def test_law_it_learns_to_reverse_by_train_and_answers_by_greedy_search_and_sample():
    torch.manual_seed(0)
    model, rng = ModernModel(CONFIG), torch.Generator().manual_seed(0)
    settings = TrainingConfig(steps=250, batch_tokens=256, warmup_steps=30, max_lr=5e-3, label_smoothing=0.0)
    held_out = reversals(200, seed=2)
    metrics = train(model, reversals(2000, seed=1), settings, generator=rng, validation=held_out)
    assert metrics[-1].step == 250
    assert metrics[-1].validation_loss < metrics[0].validation_loss
    src, expected = questions(held_out), [text[1:] for _, text in held_out]
    for targets in (
        greedy_search(model, src, extra_tokens=9),
        sample(model, src, generator=rng, logits_processors=[TopK(1)], extra_tokens=9),
    ):
        answers = [[token for token in row if token != 0] for row in targets.tolist()]
        assert sum(map(list.__eq__, answers, expected)) > 0.9 * len(expected)


def test_law_a_saved_model_is_loaded_bit_for_bit(tmp_path):
    torch.manual_seed(0)
    model = ModernModel(ModernConfig(vocab_size=263, d_model=24, d_ff=17, num_kv_heads=1))
    save(tmp_path / "model", model, make_tokenizer())
    loaded, _ = load(tmp_path / "model", ModernModel)
    assert loaded.config == model.config
    ids = torch.randint(3, 263, (2, 7))
    assert torch.equal(loaded(ids), model.eval()(ids))


@pytest.mark.message
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        *((partial(make, size), f"{name}={size}; choose a") for make, name in SIZED for size in (0, 2.5)),
        *((partial(Router, 7, 5, k), f"top_k={k} of num_experts=5; choose 1 to 5 of them$") for k in (0, 6)),
        (partial(RotaryHalves, 7), "d_k=7 is odd, but features are rotated in pairs; make it even$"),
        (partial(RotaryPositions, 8, 0), "base=0 gives no angles; give a positive number"),
        (partial(RotaryPositions, 8, math.nan), "base=nan gives no angles"),
        (partial(BucketedBias, 2, 32, 16, causal=True), "num_buckets=32 are exact below distance 16"),
        (partial(BucketedBias, 2, 32, 10, causal=True), "num_buckets=32 .*; give 2 .* larger .* than 16$"),
        (partial(BucketedBias, 2, 1, causal=True), "num_buckets=1 .*; give 2 buckets or more"),
        (partial(BucketedBias, 2, 3, causal=False), "num_buckets=3 .*; give 4 buckets or more"),
        *(
            (partial(GroupedQueryAttention, 24, 6, k), rf"num_heads=6 .*num_kv_heads={k} .* \[1, 2, 3, 6\]$")
            for k in (0, 4)
        ),
        (partial(replace, CONFIG, num_kv_heads=3), "num_heads=4 .* num_kv_heads=3"),
        (partial(replace, CONFIG, rotary_base=-1.0), "base=-1.0 gives no angles"),
        (partial(replace, CONFIG, num_heads=5), "d_model=32 does not split into num_heads=5"),
        (partial(replace, CONFIG, positions="learned"), r"positions='learned'; choose from \['rotary'\]"),
        (partial(replace, CONFIG, norm="post"), r"norm='post'; choose from \['pre_rms'\]"),
        (partial(replace, CONFIG, activation="relu"), r"activation='relu'; choose from \['swiglu'\]"),
        (partial(replace, CONFIG, attention_bias=True), r"attention_bias=True; choose from \[False\]"),
        (partial(replace, CONFIG, d_k=5), r"d_k=5; choose from \[None\]"),
        (partial(replace, CONFIG, d_v=5), r"d_v=5; choose from \[None\]"),
        (partial(replace, CONFIG, final_norm=False), r"final_norm=False; choose from \[None, True\]"),
        *((partial(kind(8), torch.ones(1, 2, 3, 2)), f"this {kind.__name__} .*=8, .* 2$") for kind in ROTARY),
        *(
            (partial(BiasedAttention(bias), *[torch.ones(1, 4, 3, 2)] * 3), "this [ABR].*=1, .* 4$")
            for bias in BIASES
        ),
        (
            partial(MixtureOfExperts, Router(7, 5, 2), []),
            "the router chooses from 5 experts, and there are 0",
        ),
        (partial(replace, CONFIG, num_heads=32), "d_k=1 is odd"),
    ],
)
def test_message_sizes_are_refused_where_they_are_given(make, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        make()


@pytest.mark.message
def test_message_models_of_2017_are_not_built_from_the_config_of_today():
    with pytest.raises(TypeError, match=r"^config is a ModernConfig, .*; give one, or build a ModernModel"):
        DecoderOnly(CONFIG)
    with pytest.raises(TypeError, match=r"must be a TransformerConfig, not ModernConfig; give a Transf"):
        Transformer(CONFIG)
