"""What training promises: it learns a task with a known answer, the same every time, and stops when told."""

import dataclasses
import functools
import io
import itertools
import math
import re

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, Pair, make_batches, pad
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID
from annotated_transformer.training import progress_bar
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.distributed import ProcessGroup
from annotated_transformer.training.metrics import EpochMetrics
from annotated_transformer.training.trainer import train
from annotated_transformer.training.validation import mean_loss

VOCAB = 17
SHAPE = TransformerConfig(
    vocab_size=VOCAB, max_length=67, num_layers=1, d_model=32, d_ff=64, num_heads=4, dropout=0.0
)
BRIEF = TrainingConfig(steps=7, batch_tokens=53, warmup_steps=3, max_lr=1e-2)


def model(seed: int = 0, **changes: object) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(dataclasses.replace(SHAPE, **changes))


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.mark.usefixtures("unchecked")
def test_law_a_small_model_learns_to_copy(copy_pairs):
    trained = model()
    config = TrainingConfig(steps=1000, batch_tokens=509, warmup_steps=100, max_lr=1e-2)
    train(trained, copy_pairs(2003, seed=0), config, generator=rng())
    unseen = copy_pairs(211, seed=1)
    found = greedy_search(trained, pad([src for src, _ in unseen])).tolist()
    right = sum(out[: len(src)] == src for out, (src, _) in zip(found, unseen, strict=True))
    assert right / len(unseen) >= 0.99


def test_law_the_same_seeds_give_the_same_weights(copy_pairs):
    def weights(seed: int) -> list[torch.Tensor]:
        trained = model(dropout=0.3)
        train(trained, copy_pairs(23, seed=0), BRIEF, generator=torch.Generator().manual_seed(seed))
        return list(trained.parameters())

    first, again, other = weights(0), weights(0), weights(1)
    assert all(map(torch.equal, first, again))
    assert not any(map(torch.equal, first, other))


def test_oracle_an_update_is_pytorchs_adam_on_the_papers_settings(copy_pairs):
    ours, theirs = model().double(), model().double()
    pairs = copy_pairs(3, seed=0)
    train(ours, pairs, dataclasses.replace(BRIEF, steps=2), generator=rng())
    adam = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=1e-9)
    (batch,) = make_batches(pairs, batch_tokens=53)
    for step in (1, 2):
        logits = theirs(batch.src, batch.tgt[:, :-1]).flatten(0, 1)
        loss = F.cross_entropy(logits, batch.tgt[:, 1:].flatten(), ignore_index=0, label_smoothing=0.1)
        adam.param_groups[0]["lr"] = 1e-2 * step / 3
        adam.zero_grad()
        loss.backward()
        adam.step()
    for name, expected in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], expected, rtol=1e-8, atol=1e-10)
    assert not torch.equal(ours.embedding.weight, model().double().embedding.weight)


def test_law_dropout_is_on_in_training_and_off_in_validation(loss_of, copy_pairs):
    one = model(dropout=0.5)
    pairs = copy_pairs(5, seed=0)
    batches = make_batches(pairs, batch_tokens=53)
    assert mean_loss(one, batches) == mean_loss(one, batches)
    assert one.training
    assert loss_of(one, batches[0], BRIEF) != loss_of(one, batches[0], BRIEF)
    train(one.eval(), pairs, BRIEF, generator=rng(), validation=pairs)
    assert one.training


def test_law_the_mean_is_over_labels_and_not_over_batches(loss_of, copy_pairs):
    one, pairs = model(), copy_pairs(29, seed=0)
    together = make_batches(pairs, batch_tokens=10_007)
    apart = make_batches(pairs, batch_tokens=31)
    assert len(together) == 1 < len(apart)
    assert mean_loss(one, apart) == pytest.approx(mean_loss(one, together), rel=1e-5)
    hard = dataclasses.replace(BRIEF, label_smoothing=0.0)
    unweighted = sum(loss_of(one, batch, hard).item() for batch in apart) / len(apart)
    assert unweighted != pytest.approx(mean_loss(one, together), rel=1e-5)


def test_law_a_report_comes_after_each_epoch_and_at_the_end(copy_pairs):
    seen: list[EpochMetrics] = []
    pairs = copy_pairs(23, seed=0)
    epoch = len(make_batches(pairs, batch_tokens=53))
    config = dataclasses.replace(BRIEF, steps=2 * epoch + 1)
    validation = copy_pairs(5, seed=1)
    one = model()
    reports = train(one, pairs, config, generator=rng(), validation=validation, report=seen.append)
    assert reports == seen
    assert [report.step for report in reports] == [epoch, 2 * epoch, 2 * epoch + 1]
    assert reports[-1].validation_loss == mean_loss(one, make_batches(validation, batch_tokens=53))
    assert reports[1].training_loss < reports[0].training_loss < 2 * math.log(VOCAB)
    assert train(model(), pairs, BRIEF, generator=rng())[-1].validation_loss is None


def test_oracle_a_report_has_the_means_of_its_own_epoch(copy_pairs):
    """The rate is too low to move a weight, so the loss and gradient of each batch can be computed again."""
    one, pairs, order = model().double(), copy_pairs(23, seed=0), rng()
    epochs = [make_batches(pairs, batch_tokens=53, generator=order) for _ in range(2)]
    config = dataclasses.replace(BRIEF, steps=sum(map(len, epochs)), max_lr=1e-300)
    reports = train(one, pairs, config, generator=rng())
    for report, batches in zip(reports, epochs, strict=True):
        losses, norms, labels = [], [], [batch.num_labels for batch in batches]
        for batch in batches:
            logits = one(batch.src, batch.tgt[:, :-1]).flatten(0, 1)
            loss = F.cross_entropy(logits, batch.tgt[:, 1:].flatten(), ignore_index=0, label_smoothing=0.1)
            gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(one.parameters()))])
            losses.append(loss.item())
            norms.append(gradient.norm().item())
        per_label = sum(loss * n for loss, n in zip(losses, labels, strict=True)) / sum(labels)
        assert report.training_loss == pytest.approx(per_label, rel=1e-9)
        assert report.training_loss != pytest.approx(sum(losses) / len(losses), rel=1e-9)
        assert report.gradient_norm == pytest.approx(sum(norms) / len(norms), rel=1e-9)


def test_law_each_epoch_may_have_its_own_pairs(copy_pairs):
    asked: list[int] = []

    def pairs_of(epoch: int) -> list[Pair]:
        asked.append(epoch)
        return copy_pairs(5 + epoch, seed=0)

    sizes = [len(make_batches(copy_pairs(5 + epoch, seed=0), batch_tokens=53)) for epoch in range(3)]
    config = dataclasses.replace(BRIEF, steps=sum(sizes))
    reports = train(model(), pairs_of, config, generator=rng())
    assert [report.step for report in reports] == [sum(sizes[: epoch + 1]) for epoch in range(3)]
    assert asked == [0, 1, 2]  # each once


def test_law_minutes_end_the_training(monkeypatch: pytest.MonkeyPatch, copy_pairs):
    seconds = itertools.count(0.0, 1.0)
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: next(seconds))
    config = dataclasses.replace(BRIEF, steps=None, minutes=0.5)
    reports = train(model(), copy_pairs(97, seed=0), config, generator=rng())
    assert reports[-1].step == 30  # half a minute of a clock that is read once at first, and once a step


def test_law_the_team_decides_when_the_training_ends(monkeypatch: pytest.MonkeyPatch, copy_pairs):
    asked: list[bool] = []

    def broadcast(self: ProcessGroup, question: bool) -> bool:
        asked.append(question)
        return len(asked) == 3

    monkeypatch.setattr(ProcessGroup, "broadcast", broadcast)
    reports = train(model(), copy_pairs(23, seed=0), BRIEF, generator=rng())
    assert [report.step for report in reports] == [3]
    assert asked == [False] * 3  # by this process's own limit, there were four steps to go


def test_law_the_bar_shows_step_loss_rate_speed_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, copy_pairs
):
    terminal, seconds = io.StringIO(), itertools.count(0.0, 1.0)
    terminal.isatty = lambda: True
    bar = functools.partial(progress_bar.tqdm, file=terminal, mininterval=0.0)
    monkeypatch.setattr(progress_bar, "tqdm", bar)
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: next(seconds))
    pairs, config = copy_pairs(97, seed=0), dataclasses.replace(BRIEF, steps=4)
    labels = [b.num_labels for b in make_batches(pairs, batch_tokens=53, generator=rng())[:4]]
    (report,) = train(model(), pairs, config, generator=rng())
    screens = re.findall(r"(\d+)%\|[^|]+\| [\d:]+<(\S+), step (\d+), ([^\r]*)", terminal.getvalue())
    assert {step for _, _, step, _ in screens} == set("1234")
    share, left, step, note = screens[-1]
    assert (share, left, step) == ("100", "00:00", "4")
    assert re.match(rf"loss \d\.\d{{3}}, lr {report.lr:.1e}, {sum(labels) / 4:.0f} tokens/s", note)


def test_law_no_bar_where_nobody_looks_on(monkeypatch: pytest.MonkeyPatch, copy_pairs):
    monkeypatch.setattr(
        progress_bar, "tqdm", functools.partial(progress_bar.tqdm, file=(file := io.StringIO()))
    )
    train(model(), copy_pairs(5, seed=0), BRIEF, generator=rng())
    assert file.getvalue() == ""


def test_law_bf16_rounds_the_products_and_neither_the_loss_nor_the_weights(loss_of, copy_pairs):
    one, pairs = model(), copy_pairs(97, seed=0)
    (batch,) = make_batches(pairs, batch_tokens=1009)
    rounded, exact = (loss_of(one, batch, dataclasses.replace(BRIEF, bf16=bf16)) for bf16 in (True, False))
    assert rounded.dtype == torch.float32
    assert rounded.item() != exact.item()
    assert rounded.item() == pytest.approx(exact.item(), rel=0.01)
    reports = train(one, pairs, dataclasses.replace(BRIEF, bf16=True), generator=rng())
    assert math.isfinite(reports[-1].training_loss)
    assert {parameter.dtype for parameter in one.parameters()} == {torch.float32}


def test_law_padding_in_the_batch_does_not_move_the_loss(loss_of, copy_pairs):
    one, ((src, tgt),) = model().double(), copy_pairs(1, seed=3)
    alone = Batch([0], pad([src]), pad([tgt]))
    padded = Batch([0], F.pad(alone.src, (0, 3)), F.pad(alone.tgt, (0, 5)))
    expected = loss_of(one, alone, BRIEF)
    torch.testing.assert_close(loss_of(one, padded, BRIEF), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("lengths", [(67, 2), (2, 68)], ids=["source", "target"])
def test_law_a_pair_that_fills_the_positions_is_learned(copy_pairs, lengths: tuple[int, int]):
    """The decoder reads the target without its last token: 68 tokens take 67 positions."""
    src, tgt = lengths
    pairs = [([4] * (src - 1) + [EOS_ID], [BOS_ID] + [4] * (tgt - 2) + [EOS_ID])]
    config = dataclasses.replace(BRIEF, batch_tokens=101)
    reports = train(model(), pairs, config, generator=rng(), validation=pairs)
    assert reports[-1].step == 7


@pytest.mark.message
def test_message_a_loss_that_is_no_number_stops_before_the_weights(copy_pairs):
    broken = model()
    with torch.no_grad():
        broken.embedding.weight[EOS_ID] = math.nan
    before = [parameter.clone() for parameter in broken.decoder.parameters()]
    with pytest.raises(
        FloatingPointError, match=r"the loss is nan at step 1, .* 3\.33e-03.* more than warmup_steps=3"
    ):
        train(broken, copy_pairs(5, seed=0), BRIEF, generator=rng())
    assert all(map(torch.equal, broken.decoder.parameters(), before))


@pytest.mark.message
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("minutes", -1.0),
        ("minutes", math.nan),
        ("batch_tokens", 0),
        ("warmup_steps", 0),
        ("max_lr", 0.0),
    ],
)
def test_message_settings_that_cannot_train(name: str, value: float):
    with pytest.raises(ValueError, match=f"{name}={value} must be a positive number"):
        TrainingConfig(**{name: value})


@pytest.mark.message
def test_message_no_limit():
    with pytest.raises(ValueError, match="steps=None and minutes=None would train forever; give one of them"):
        TrainingConfig(steps=None)


@pytest.mark.message
def test_message_label_smoothing():
    with pytest.raises(
        ValueError, match=r"label_smoothing=1\.0 is not a probability; give 0 or more, below 1"
    ):
        TrainingConfig(label_smoothing=1.0)


@pytest.mark.parametrize("fast", [False, True])
def test_law_a_model_of_other_special_ids_learns_the_same(copy_pairs, fast: bool):
    """Ids are names: with ids, rows of the embedding and labels renamed, every number is the same."""
    new_id = torch.randperm(17, generator=rng())
    pairs = copy_pairs(43)
    renamed = [tuple(new_id[list(ids)].tolist() for ids in pair) for pair in pairs]
    pad_id, bos_id, eos_id = new_id[:3].tolist()
    assert 0 not in (pad_id, bos_id, eos_id)  # so that padding by 0 would be a word
    one = model(dropout=0.0)
    other = model(dropout=0.0, pad_id=pad_id, bos_id=bos_id, eos_id=eos_id)
    with torch.no_grad():
        other.embedding.weight[new_id] = one.embedding.weight
    config = dataclasses.replace(BRIEF, fast=fast)
    expected, found = (
        train(net, data, config, generator=rng(), validation=data[:7])
        for net, data in ((one, pairs), (other, renamed))
    )
    for before, after in zip(expected, found, strict=True):
        assert after.training_loss == pytest.approx(before.training_loss, rel=1e-4)
        assert after.validation_loss == pytest.approx(before.validation_loss, rel=1e-4)
    torch.testing.assert_close(other.embedding.weight[new_id], one.embedding.weight, rtol=1e-3, atol=1e-4)


@pytest.mark.message
@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        (([4, 2], [3, 4, 2]), "the target of pair 5 has ids from 3 to 2, .* begin with bos_id=1"),
        (([4, 2], [1, 4, 7]), "the target of pair 5 has ids from 1 to 7, .* end with eos_id=2; build"),
        (([4, 0, 2], [1, 4, 2]), "pair 5 holds 0, the model's pad_id, .*; leave padding to make_batches"),
        (([4, 2], [1, 17, 2]), "pair 5 holds the id 17, and the model has vocab_size=17; build the model"),
    ],
)
def test_message_a_pair_of_other_ids_stops_before_the_first_update(copy_pairs, pair, sentence: str):
    with pytest.raises(ValueError, match=sentence):
        train(model(), [*copy_pairs(5), pair], BRIEF, generator=rng())


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
    src, tgt = lengths
    pairs = [*copy_pairs(2, seed=0), ([4] * src, [BOS_ID] + [4] * (tgt - 2) + [EOS_ID])]
    with pytest.raises(
        ValueError,
        match=f"pair 2 has {src} source and {tgt} target tokens, and the model 67 positions; drop",
    ):
        train(model(), pairs, dataclasses.replace(BRIEF, batch_tokens=101), generator=rng())


@pytest.mark.message
def test_message_a_validation_pair_longer_than_the_positions_stops_before_the_first_update(copy_pairs):
    pairs, one, config = copy_pairs(2, seed=0), model(), dataclasses.replace(BRIEF, batch_tokens=101)
    before, held_out = one.embedding.weight.clone(), [*pairs, ([4] * 71, [BOS_ID, EOS_ID])]
    message = "validation pair 2 has 71 source and 2 target tokens, and the model 67 positions; drop"
    with pytest.raises(ValueError, match=message):
        train(one, pairs, config, generator=rng(), validation=held_out)
    assert torch.equal(one.embedding.weight, before)
