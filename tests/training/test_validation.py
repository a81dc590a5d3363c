"""Validation: a mean over labels, without dropout; invalid pairs stop the training run."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.text.batching import make_batches
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID
from annotated_transformer.training.loss import mean_loss
from annotated_transformer.training.trainer import train
from tests.small_training import BRIEF, model, rng


def test_law_dropout_is_on_in_training_and_off_in_validation(loss_of, copy_pairs):
    one = model(dropout=0.5)
    pairs = copy_pairs(5, seed=0)
    batches = make_batches(pairs, batch_tokens=53)
    assert mean_loss(one, batches) == mean_loss(one, batches)
    assert one.training
    assert loss_of(one, batches[0], BRIEF) != loss_of(one, batches[0], BRIEF)
    train(one.eval(), pairs, BRIEF, generator=rng(), validation=pairs)
    assert one.training


def test_oracle_the_validation_loss_is_pytorchs_cross_entropy_over_all_labels(copy_pairs):
    one, pairs = model(), copy_pairs(29, seed=0)
    (batch,) = make_batches(pairs, batch_tokens=10_007)
    logits = one.eval()(batch.src, batch.decoder_input).flatten(0, 1)
    expected = F.cross_entropy(logits, batch.labels.flatten(), ignore_index=PAD_ID).item()
    apart = make_batches(pairs, batch_tokens=31)
    assert mean_loss(one, apart) == pytest.approx(expected, rel=1e-5)
    unweighted = sum(mean_loss(one, [batch]) for batch in apart) / len(apart)
    assert unweighted != pytest.approx(expected, rel=1e-5)


@pytest.mark.message
@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        (([4, 2], [3, 4, 2]), "the target of pair 5 has ids from 3 to 2, .* begin with bos_id=1"),
        (([4, 2], [1, 4, 7]), "the target of pair 5 has ids from 1 to 7, .* end with eos_id=2; build"),
        (([4, 0, 2], [1, 4, 2]), "pair 5 holds 0, the model's pad_id, .*; leave padding to make_batches"),
        (([4, 2], [1, 17, 2]), "pair 5 holds the id 17, and the model has vocab_size=17; build the model"),
        (([-3, 2], [1, 4, 2]), "pair 5 holds the id -3, and the model has vocab_size=17; build the model"),
        (([], [1, 4, 2]), "pair 5 has 0 source and 3 target tokens; a source needs one"),
        (([4, 2], [1]), r"pair 5 has 2 source and 1 target tokens; .* \(EOS\) and a target two \(BOS, EOS\)"),
    ],
)
def test_message_a_pair_with_invalid_ids_stops_before_the_first_update(copy_pairs, pair, sentence: str):
    with pytest.raises(ValueError, match=sentence):
        train(model(), [*copy_pairs(5), pair], BRIEF, generator=rng())


@pytest.mark.message
def test_message_pairs_of_texts_stop_before_the_first_update(copy_pairs):
    message = "^pair 5 has 'A man', which is not a list of ids; give encode_pairs"
    with pytest.raises(TypeError, match=message):
        train(model(), [*copy_pairs(5), ("A man", "Ein Mann")], BRIEF, generator=rng())


@pytest.mark.message
def test_message_a_batch_padded_for_another_model(loss_of, copy_pairs):
    (batch, *_) = make_batches(copy_pairs(5), batch_tokens=101)
    message = "the batch is padded with 0, and the model has pad_id=5; give make_batches that pad_id"
    for loss in (lambda net: loss_of(net, batch, BRIEF), lambda net: mean_loss(net, [batch])):
        with pytest.raises(ValueError, match=message):
            loss(model(pad_id=5))


@pytest.mark.message
@pytest.mark.parametrize("lengths", [(68, 2), (2, 69)], ids=["source", "target"])
def test_message_a_pair_longer_than_the_positions(copy_pairs, lengths: tuple[int, int]):
    (src, tgt), good, config = lengths, copy_pairs(2, seed=0), dataclasses.replace(BRIEF, batch_tokens=101)
    long = [*good, ([4] * src, [BOS_ID] + [4] * (tgt - 2) + [EOS_ID])]
    sentence = f"pair 2 has {src} source and {tgt} target tokens, and the model 67 positions; drop"
    with pytest.raises(ValueError, match=f"^{sentence}"):
        train(model(), long, config, generator=rng())
    with pytest.raises(ValueError, match=f"^{sentence}"):
        train(model(), lambda epoch: long if epoch else good, config, generator=rng())
    one, untrained = model(), model()
    with pytest.raises(ValueError, match=f"^validation {sentence}"):
        train(one, good, config, generator=rng(), validation=long)
    assert torch.equal(one.embedding.weight, untrained.embedding.weight)
