"""Decoder-only and encoder-only: what they see, and their losses."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.parts import PaperParts
from annotated_transformer.model.plain import differences
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.decoder_only import DecoderOnly, EncoderOnly
from annotated_transformer.modern.modern_parts import ModernParts
from annotated_transformer.text.batching import Batch, Pair, make_batches

CONFIG = TransformerConfig(
    vocab_size=13, max_length=17, num_layers=2, d_model=12, d_ff=10, num_heads=3, dropout=0.0
)
IDS = torch.tensor([[1, 5, 6, 7, 8], [1, 9, 10, 11, 12]])
both_parts = pytest.mark.parametrize("parts", [PaperParts, ModernParts])


def new(kind, parts):
    torch.manual_seed(0)
    return kind(CONFIG, parts(CONFIG)).double()


@both_parts
def test_law_later_tokens_change_an_encoder_and_not_a_decoder(parts):
    changed = IDS.clone()
    changed[:, 3] = 4
    for kind, sees in ((DecoderOnly, False), (EncoderOnly, True)):
        model = new(kind, parts)
        gap = (model(IDS) - model(changed)).abs().amax(dim=(0, 2))
        assert (gap[:3].max() > 1e-6) == sees
        assert gap[4] > 1e-6


@pytest.mark.parametrize("options", [{}, {"norm": "pre", "positions": "learned", "d_k": 5, "d_v": 7}])
def test_oracle_an_encoder_only_model_is_the_encoder_of_a_transformer(options):
    config = dataclasses.replace(CONFIG, **options)
    model, single = Transformer(config), EncoderOnly(config)
    assert list(differences(single.encoder, model.encoder)) == []
    single.load_state_dict(model.state_dict(), strict=False)
    src = torch.tensor([[3, 4, 5, 6, 2], [7, 8, 2, 0, 0]])
    memory = model.encode(src, (src != 0)[:, None, None])
    torch.testing.assert_close(single.hidden(src), memory, rtol=0, atol=0)
    torch.testing.assert_close(single(src), memory @ model.embedding.weight.T)


@both_parts
@pytest.mark.parametrize("kind", [DecoderOnly, EncoderOnly])
def test_law_padding_changes_nothing(kind, parts):
    model = new(kind, parts)
    padded = torch.nn.functional.pad(IDS, (0, 3))
    torch.testing.assert_close(model(padded)[:, :5], model(IDS), rtol=1e-12, atol=1e-12)


def batch(pairs: list[Pair]) -> Batch:
    (made,) = make_batches(pairs, batch_tokens=99)
    return made


@both_parts
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_oracle_the_losses_are_those_of_the_package(parts, smoothing):
    decoder, encoder = new(DecoderOnly, parts), new(EncoderOnly, parts)
    texts = batch([([], [1, 5, 6, 7, 2]), ([], [1, 8, 9, 2])])
    tagged = batch([([5, 3, 7], [1, 5, 6, 7]), ([8, 3], [1, 8, 9])])
    for model, logits, labeled in (
        (decoder, decoder(texts.tgt[:, :-1]), texts),
        (encoder, encoder(tagged.src), tagged),
    ):
        flat = logits.flatten(0, 1), labeled.labels.flatten()
        expected = F.cross_entropy(*flat, ignore_index=0, label_smoothing=smoothing)
        torch.testing.assert_close(model.loss(labeled, smoothing=smoothing), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.message
@pytest.mark.parametrize(
    ("kind", "pair", "sentence"),
    [
        (DecoderOnly, ([5, 2], [1, 6, 2]), "sources of 2 tokens, and a decoder-only model reads one text"),
        (EncoderOnly, ([5, 2], [1, 6, 7, 8]), r"tokens of shape \(1, 2\) and labels of \(1, 3\); give as"),
    ],
)
def test_message_a_batch_of_another_kind(kind, pair, sentence):
    with pytest.raises(ValueError, match=f"^the batch has {sentence}"):
        new(kind, PaperParts).loss(batch([pair]), smoothing=0.0)


@pytest.mark.message
@pytest.mark.parametrize(("name", "value"), [("tied_output", False), ("output_bias", True)])
def test_message_logits_that_a_single_stack_does_not_compute(name, value):
    with pytest.raises(
        ValueError, match=f"^{name}={value}, and a DecoderOnly computes logits by .* leave {name} out$"
    ):
        DecoderOnly(dataclasses.replace(CONFIG, **{name: value}))
