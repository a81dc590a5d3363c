"""The whole Transformer in one file computes what the package computes, learns, and translates alike."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from annotated_transformer import Transformer, TransformerConfig, Translator
from annotated_transformer.book.from_scratch import whole_transformer as whole
from annotated_transformer.book.results import read_result
from annotated_transformer.book.toy.reordered import padded_ids, reordered_pairs, reordered_vocabulary
from annotated_transformer.decoding import greedy_search
from annotated_transformer.model.loss import label_smoothed_cross_entropy
from annotated_transformer.text.batching import pad
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.training.schedule import learning_rate

SOURCE = Path(whole.__file__).read_text("utf-8")
SHIPPED = Path(whole.__file__).parents[2] / "weights" / "en-de"


@pytest.fixture
def float64() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_law_it_is_one_short_file_that_needs_nothing_of_ours():
    assert len(SOURCE.splitlines()) <= 220
    assert "annotated_transformer" not in SOURCE


def test_law_outputs_loss_and_gradients_are_the_package_s(float64: None):
    config = TransformerConfig(
        vocab_size=23, max_length=30, num_layers=2, d_model=30, num_heads=3, d_ff=17, dropout=0.0
    )
    ours, theirs = Transformer(config), whole.Transformer(23, 2, 30, 3, 17, dropout=0.0)
    theirs.load_state_dict(ours.state_dict())
    rng = torch.Generator().manual_seed(0)
    src, tgt = (torch.randint(4, 23, (3, tokens), generator=rng) for tokens in (7, 9))
    src[1, 4:], tgt[:, 0], tgt[2, 5:] = 0, 1, 0
    logits, labels = ours(src, tgt[:, :-1]), tgt[:, 1:]
    losses = [
        label_smoothed_cross_entropy(logits, labels, smoothing=0.1, pad_id=0),
        whole.cross_entropy(found := theirs(src, tgt[:, :-1]), labels, smoothing=0.1),
    ]
    gradients = [
        torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
        for loss, model in zip(losses, (ours, theirs), strict=True)
    ]
    for one, other in zip((logits, losses[0], *gradients[0]), (found, losses[1], *gradients[1]), strict=True):
        torch.testing.assert_close(other, one, rtol=0, atol=1e-12)


def test_law_the_learning_rate_is_the_package_s():
    for step in (1, 99, 100, 101, 5000):
        assert whole.learning_rate(step, 32, 100) == learning_rate(step, d_model=32, warmup_steps=100)


def translations(texts: list[str]) -> tuple[Tensor, Tensor]:
    """Return the ids that the package's greedy search gives with the shipped weights, and the file's."""
    translator = Translator.from_pretrained("en-de")
    ours = translator.model.double()
    ours.positions.table = whole.positions(256, 160)  # the table was rounded to float32
    theirs = whole.Transformer(6000, 4, 160, 5, 512).double()
    theirs.load_state_dict(ours.state_dict())
    src = pad(translator.tokenizer.encode_source(texts))
    return greedy_search(ours, src), whole.greedy_search(theirs, src)


@pytest.mark.usefixtures("unchecked")
def test_law_greedy_search_finds_what_the_package_finds():
    expected = read_result("weights_en-de")["examples"]
    assert torch.equal(*translations([*expected]))
    assert whole.translate(SHIPPED, [*expected][:2]) == Translator.from_pretrained("en-de").translate(
        [*expected][:2], beam_size=1
    )


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_law_so_it_does_for_200_sentences_of_the_test_set(shared_data: Path):
    corpus = load_corpus("tatoeba", folder=shared_data, source="en", target="de")
    assert torch.equal(*translations([pair[0] for pair in corpus.splits["test"][:200]]))


def test_law_its_training_loop_learns_the_toy_language(float64: None):
    language, vocabulary = reordered_pairs(), reordered_vocabulary()
    random.Random(0).shuffle(language)
    held_out, training = language[:200], language[200:]
    torch.manual_seed(0)
    rng, model = random.Random(0), whole.Transformer(vocabulary.vocab_size, 1, 32, 4, 64, dropout=0.0)
    batches = (padded_ids(rng.sample(training, 64), vocabulary) for _ in range(400))
    losses = list(whole.train(model, batches, warmup_steps=100, smoothing=0.1))
    src, tgt = padded_ids(held_out, vocabulary)
    written = whole.greedy_search(model, src)
    exact = [
        row[row != 0].tolist() == right[right != 0][1:].tolist()
        for row, right in zip(written, tgt, strict=True)
    ]
    assert losses[-1] < losses[0] / 2
    assert sum(exact) >= 190  # of 200
