"""A probe finds what a linear map can find, evaluated on held-out samples."""

import torch

from annotated_transformer.book.toy.probe import layer_outputs, probe_accuracy
from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import PostNorm

SAMPLES, D_MODEL, CLASSES = 211, 12, 3


def test_law_the_depths_run_from_the_input_to_the_output():
    layers = [
        EncoderLayer(MultiHeadAttention(6, 2), FeedForward(6, 7), PostNorm(6, 0.0), PostNorm(6, 0.0))
        for _ in range(3)
    ]
    encoder, x = Encoder(layers), torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0))
    found = layer_outputs(encoder, x)
    assert found.shape == (4, 2, 5, 6)
    assert torch.equal(found[0], x)
    assert torch.equal(found[-1], encoder(x))
    assert torch.equal(found[2], layers[1](found[1]))
    assert not found.requires_grad


def test_law_a_probe_finds_a_label_only_if_it_shifts_the_vectors():
    rng = torch.Generator().manual_seed(0)
    labels = torch.randint(CLASSES, (SAMPLES,), generator=rng) + 5
    noise = torch.randn(SAMPLES, D_MODEL, generator=rng, dtype=torch.float64)
    held_out = torch.rand(SAMPLES, generator=rng) < 0.3
    shift = 9 * torch.eye(D_MODEL, dtype=torch.float64)[labels - 5]
    assert probe_accuracy(noise + shift, labels, held_out) == 1
    assert probe_accuracy(noise, labels, held_out) < 0.6


def test_law_a_probe_is_judged_on_held_out_samples_only():
    rng = torch.Generator().manual_seed(0)
    vectors = torch.randn(40, 60, generator=rng, dtype=torch.float64)  # wide enough to memorize the samples
    labels, held_out = torch.randint(2, (40,), generator=rng), torch.arange(40) >= 20
    assert probe_accuracy(vectors, labels, held_out) < 0.9
    again = torch.cat([vectors[:20], vectors[:20]]), torch.cat([labels[:20], labels[:20]])
    assert probe_accuracy(*again, held_out) == 1
