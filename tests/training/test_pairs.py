"""Pairs that do not fit a model stop a training run before its first update."""

import dataclasses

import pytest

from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import encode_pairs
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, Tokenizer
from annotated_transformer.training.pairs import overlap_warning, refuse_long_pairs
from annotated_transformer.training.trainer import train
from tests.own_models import Classifier, LanguageModel, classes, make, sequences
from tests.small_training import BRIEF, model, rng
from tests.tiny_run import same
from tests.toy_recipe import corpus

REFUSED = {
    Transformer: [
        (([4, 2], [3, 4, 2]), "the target of pair 6 has ids from 3 to 2, .* begin with bos_id=1"),
        (([4, 2], [1, 4, 7]), "the target of pair 6 has ids from 1 to 7, .* end with eos_id=2; build"),
        (([4, 0, 2], [1, 4, 2]), "pair 6 holds 0, the model's pad_id, .*; leave padding to make_batches"),
        (([4, 2], [1, 17, 2]), "pair 6 holds the id 17, and the model has vocab_size=17; build the model"),
        (([-3, 2], [1, 4, 2]), "pair 6 holds the id -3, and the model has vocab_size=17; build the model"),
        (([], [1, 4, 2]), "pair 6 has no source to predict its target from; give one token or more"),
        (([4, 2], [1]), "pair 6 has 1 target token; give two or more, of which all but one are predicted"),
        (("A man", "Ein Mann"), "pair 6 has 'A man', which is not a list of ids; give encode_pairs"),
    ],
    LanguageModel: [
        (([], []), "pair 6 has no target; give each source at least one id to predict"),
        (([], [1, 17, 2]), "pair 6 holds the id 17, and the model has vocab_size=17"),
        (([], [4] * 25), "pair 6 has 0 source and 25 target tokens, and the model 23 pos"),
        (([], [1]), "pair 6 has 1 target token; give two or more, of which all but one are"),
    ],
    Classifier: [
        (([0, 2], [3]), "pair 6 holds 0, the model's pad_id"),
        (([], [3]), "pair 6 has no source to predict its target from; give one"),
        (([4, 2], [1, 3]), "a pair among .* has 2 classes; give each one:"),
    ],
}


@pytest.mark.message
@pytest.mark.parametrize(
    ("kind", "pair", "sentence"), [(kind, *row) for kind, rows in REFUSED.items() for row in rows]
)
def test_message_a_pair_that_does_not_fit_stops_before_the_first_update(copy_pairs, kind, pair, sentence):
    draw = {Transformer: copy_pairs, LanguageModel: sequences, Classifier: classes}[kind]
    untrained, one = (model() if kind is Transformer else make(kind) for _ in range(2))
    error = TypeError if "is not a list" in sentence else ValueError
    with pytest.raises(error, match=f"^{sentence}"):
        train(one, [*draw(5), pair], BRIEF, generator=rng())
    assert same(one.state_dict(), untrained.state_dict())


def test_law_texts_that_just_fit_the_positions_are_not_too_long():
    """The decoder reads the target without its last token."""
    texts = corpus(splits={"train": [("a", "b " * 9), ("a " * 9, "b")]})
    tokenizer = Tokenizer.train(["c"], vocab_size=260)
    (_, tgt), (src, _) = encode_pairs(tokenizer, texts.splits["train"])
    assert len(tgt) - 1 == len(src)
    refuse_long_pairs(texts, tokenizer, positions=len(src), batch_tokens=len(tgt))


@pytest.mark.message
@pytest.mark.parametrize("lengths", [(68, 2), (2, 69)], ids=["source", "target"])
def test_message_a_pair_longer_than_the_positions(copy_pairs, lengths: tuple[int, int]):
    """The decoder reads the target without its last token, so 68 tokens take 67 positions."""
    (src, tgt), good, config = lengths, copy_pairs(2, seed=0), dataclasses.replace(BRIEF, batch_tokens=101)
    fits = [([4] * min(src, 67), [BOS_ID] + [4] * min(tgt - 2, 66) + [EOS_ID])]
    others = [(source[1:], target) for source, target in fits]
    assert train(model(), fits, config, generator=rng(), validation=others)[-1].step == 7
    long = [*good, ([4] * src, [BOS_ID] + [4] * (tgt - 2) + [EOS_ID])]
    sentence = f"pair 3 has {src} source and {tgt} target tokens, and the model 67 positions; drop"
    for pairs in (long, lambda epoch: long if epoch else good):
        with pytest.raises(ValueError, match=f"^{sentence}"):
            train(model(), pairs, config, generator=rng())
    one = model()
    with pytest.raises(ValueError, match=f"^validation {sentence}"):
        train(one, good, config, generator=rng(), validation=long)
    assert same(one.state_dict(), model().state_dict())


@pytest.mark.message
def test_message_validation_pairs_that_are_training_pairs(copy_pairs):
    pairs, others = copy_pairs(6, seed=0), copy_pairs(6, seed=1)
    message = r"^2 of 8 validation pairs \(25%\) are training pairs: the validation loss, and what is chosen"
    with pytest.warns(UserWarning, match=message):
        train(model(), pairs, BRIEF, generator=rng(), validation=others + pairs[:2])
    assert overlap_warning(range(200), range(199, 399)) is None  # 0.5 percent
